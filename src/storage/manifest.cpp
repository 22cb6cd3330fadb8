#include <algorithm>

#include <nlohmann/json.hpp>

#include "physarum/base/contracts.hpp"
#include "physarum/base/hash.hpp"

#include "physarum/storage/checkpoint.hpp"

namespace physarum::storage {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* manifest_format = "physarum.checkpoint.manifest";
constexpr std::int64_t manifest_version = 1;
/// The last member; what stands before it is under the digest that it holds.
constexpr std::string_view tail_begin = ",\n \"digest\": \"";
constexpr std::string_view tail_end = "\"\n}\n";

std::string digest_text(std::string_view text) {
  return base::digest128(std::as_bytes(std::span(text))).hex();
}

Element element_named(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(Element::text); ++i) {
    if (element_name(static_cast<Element>(i)) == name) return static_cast<Element>(i);
  }
  throw std::out_of_range("unknown element '" + name + "'");
}

Json to_json(const BulkPlace& place) {
  return {{"name", place.dataset.name},     {"element", element_name(place.dataset.element)},
          {"extent", place.dataset.extent}, {"offset", place.offset},
          {"bytes", place.dataset.bytes()}, {"digest", place.digest}};
}

BulkPlace place_of(const Json& json) {
  BulkPlace place;
  place.dataset.name = json.at("name").get<std::string>();
  place.dataset.element = element_named(json.at("element").get<std::string>());
  place.dataset.extent = json.at("extent").get<Extent>();
  place.offset = json.at("offset").get<std::uint64_t>();
  place.digest = json.at("digest").get<std::string>();
  std::uint64_t bytes = element_bytes(place.dataset.element);
  for (const std::uint64_t size : place.dataset.extent) {
    if (__builtin_mul_overflow(bytes, size, &bytes))
      throw std::out_of_range("a size does not fit 64 bits");
  }
  if (bytes != json.at("bytes").get<std::uint64_t>())
    throw std::out_of_range("a size does not fit its extent");
  return place;
}

/// Places follow one another within the file.
bool in_order(const CheckpointManifest& manifest) {
  std::uint64_t end = 0;
  for (const auto& place : manifest.bulk) {
    const std::uint64_t bytes = place.dataset.bytes();
    if (place.offset < end || bytes > manifest.file_bytes ||
        place.offset > manifest.file_bytes - bytes) {
      return false;
    }
    end = place.offset + bytes;
  }
  return true;
}

CheckpointManifest read_body(const std::string& body, const std::string& where) {
  const Json json = Json::parse(body);
  const auto version = json.at("format_version").get<std::int64_t>();
  if (json.at("format").get<std::string>() != manifest_format || version < 1)
    throw std::out_of_range("it is no manifest");
  if (version > manifest_version) {
    throw base::UserError("a checkpoint of version " + std::to_string(version) +
                              " is not known here (newest: " + std::to_string(manifest_version) +
                              ")",
                          where, "use the Physarum that wrote it, or a newer one");
  }
  CheckpointManifest manifest;
  manifest.step = json.at("step").get<std::int64_t>();
  manifest.weight_version = json.at("weight_version").get<std::int64_t>();
  manifest.program_version = json.at("program_version").get<std::string>();
  manifest.written = json.at("written").get<std::string>();
  manifest.hosts = json.at("hosts").get<std::vector<std::string>>();
  manifest.file_bytes = json.at("file_bytes").get<std::uint64_t>();
  manifest.rest_digest = json.at("rest_digest").get<std::string>();
  for (const auto& place : json.at("bulk")) manifest.bulk.push_back(place_of(place));
  if (!in_order(manifest)) throw std::out_of_range("its datasets do not fit the file");
  return manifest;
}

}  // namespace

std::uint64_t BulkDataset::bytes() const { return count_elements(extent) * element_bytes(element); }

std::string CheckpointManifest::to_text() const {
  base::expects(in_order(*this), "datasets follow one another in the file");
  Json bulk_json = Json::array();
  for (const auto& place : bulk) bulk_json.push_back(to_json(place));
  const Json json = {{"format", manifest_format},
                     {"format_version", manifest_version},
                     {"step", step},
                     {"weight_version", weight_version},
                     {"program_version", program_version},
                     {"written", written},
                     {"hosts", hosts},
                     {"file", checkpoint_file_name},
                     {"file_bytes", file_bytes},
                     {"rest_digest", rest_digest},
                     {"bulk", bulk_json}};
  std::string body = json.dump(1);
  body.resize(body.rfind("\n}"));
  std::string text = body;
  text.append(tail_begin).append(digest_text(body)).append(tail_end);
  return text;
}

CheckpointManifest CheckpointManifest::from_text(std::string_view text, const std::string& where) {
  const auto tail = text.rfind(tail_begin);
  const std::string_view body = text.substr(0, tail == text.npos ? 0 : tail);
  std::string expected(tail_begin);
  expected.append(digest_text(body)).append(tail_end);
  if (tail == text.npos || text.substr(tail) != expected)
    throw DamagedCheckpoint("the manifest does not have its digest", where);
  try {
    return read_body(std::string(body) + "\n}", where);
  } catch (const nlohmann::json::exception& error) {
    throw DamagedCheckpoint(std::string("the manifest cannot be read: ") + error.what(), where);
  } catch (const std::out_of_range& error) {
    throw DamagedCheckpoint(std::string("the manifest cannot be read: ") + error.what(), where);
  }
}

}  // namespace physarum::storage
