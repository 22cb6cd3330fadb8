#include "physarum/base/logging.hpp"

#include <atomic>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>

#include <boost/core/null_deleter.hpp>
#include <boost/log/attributes/constant.hpp>
#include <boost/log/core.hpp>
#include <boost/log/expressions.hpp>
#include <boost/log/sinks.hpp>
#include <boost/log/sources/record_ostream.hpp>
#include <boost/log/sources/severity_logger.hpp>
#include <boost/log/support/date_time.hpp>
#include <boost/log/utility/setup/common_attributes.hpp>
#include <boost/smart_ptr/make_shared_object.hpp>
#include <boost/smart_ptr/shared_ptr.hpp>

#include "physarum/base/error.hpp"

namespace physarum::base {

namespace {

namespace logging = boost::log;
namespace expr = boost::log::expressions;
using Sink = logging::sinks::synchronous_sink<logging::sinks::text_ostream_backend>;

std::atomic<bool> started{false};

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::debug:
      return "debug";
    case Severity::info:
      return "info";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "?";
}

void write_file_line(const logging::record_view& record, logging::formatting_ostream& stream) {
  static const auto prefix = expr::stream << expr::format_date_time<boost::posix_time::ptime>(
                                                 "TimeStamp", "%Y-%m-%d %H:%M:%S.%f")
                                          << " [" << expr::attr<int>("Rank") << " "
                                          << expr::attr<std::string>("Role") << "] ";
  prefix(record, stream);
  stream << severity_name(*logging::extract<Severity>("Severity", record)) << ": "
         << *record[expr::smessage];
}

void write_console_line(const logging::record_view& record, logging::formatting_ostream& stream) {
  const auto severity = *logging::extract<Severity>("Severity", record);
  stream << "physarum: ";
  if (severity >= Severity::warning) stream << severity_name(severity) << ": ";
  stream << *record[expr::smessage];
}

template <class Formatter>
void add_sink(const boost::shared_ptr<std::ostream>& stream, Severity level, Formatter formatter) {
  auto sink = boost::make_shared<Sink>();
  sink->locked_backend()->add_stream(stream);
  // A run that is killed keeps its last line: that line says where it was.
  sink->locked_backend()->auto_flush(true);
  sink->set_filter(expr::attr<Severity>("Severity") >= level);
  sink->set_formatter(formatter);
  logging::core::get()->add_sink(sink);
}

}  // namespace

void start_logging(const LogOptions& options) {
  auto core = logging::core::get();
  core->add_global_attribute("Rank", logging::attributes::constant<int>(options.rank));
  core->add_global_attribute("Role", logging::attributes::constant<std::string>(options.role));
  logging::add_common_attributes();
  if (options.rank == 0) {
    add_sink(boost::shared_ptr<std::ostream>(&std::clog, boost::null_deleter()),
             options.console_level, &write_console_line);
  }
  if (!options.directory.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.directory, error);
    const auto path = options.directory / ("rank-" + std::to_string(options.rank) + ".log");
    auto file = boost::make_shared<std::ofstream>(path, std::ios::app);
    if (!*file) {
      throw UserError("the log file cannot be written", path.string(),
                      "choose another --run-name or mend its permissions");
    }
    add_sink(file, options.file_level, &write_file_line);
  }
  started = true;
}

void stop_logging() noexcept {
  if (!started.exchange(false)) return;
  logging::core::get()->flush();
  logging::core::get()->remove_all_sinks();
}

void log(Severity severity, std::string_view message) noexcept {
  try {
    if (!started) {
      if (severity >= Severity::warning) {
        std::fprintf(stderr, "physarum: %s: %.*s\n", severity_name(severity),
                     static_cast<int>(message.size()), message.data());
      }
      return;
    }
    static logging::sources::severity_logger_mt<Severity> logger;
    if (auto record = logger.open_record(logging::keywords::severity = severity)) {
      logging::record_ostream lines(record);
      lines.write(message.data(), static_cast<std::streamsize>(message.size()));
      lines.flush();
      logger.push_record(std::move(record));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "physarum: logging failed: %s\n", error.what());
  }
}

}  // namespace physarum::base
