#include "physarum/base/options.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace physarum::base {
namespace {

enum class Mode { sync, async };

struct Settings {
  std::int64_t batch = 8;
  std::optional<std::int64_t> limit;
  double lr = 1e-3;
  std::string name = "run";
  bool shuffle = false;
  Mode mode = Mode::sync;
  std::vector<std::int64_t> stops;
  std::vector<std::string> texts;
};

OptionTable table_of(Settings& s) {
  OptionTable table;
  table.topic("training");
  table.add("lr", s.lr, "learning rate", Range<double>{0, 1});
  table.add("rollout-batch-size", s.batch, "prompts a step", Range<std::int64_t>{1, 1000});
  table.add("limit", s.limit, "a limit", Range<std::int64_t>{1, 10});
  table.topic("run");
  table.add("run-name", s.name, "name");
  table.add_switch("rollout-shuffle", s.shuffle, "shuffle");
  table.add_choice("mode", s.mode, "mode", {"sync", "async"});
  table.add_list("stop-ids", s.stops, "stops");
  table.add_texts("texts", s.texts, "texts");
  return table;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

std::string write_toml(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("physarum-options-test-" + std::to_string(::getpid()) + ".toml");
  std::ofstream(path) << text;
  return path.string();
}

TEST(Options, flags_set_values_and_leave_positional_arguments) {
  Settings s;
  auto table = table_of(s);
  const auto rest = read_arguments({"file.toml", "--lr", "0.5", "--rollout-shuffle", "--mode=async",
                                    "--stop-ids", "1,2", "--limit", "3"},
                                   table);
  EXPECT_EQ(rest, std::vector<std::string>{"file.toml"});
  EXPECT_EQ(s.lr, 0.5);
  EXPECT_TRUE(s.shuffle);
  EXPECT_EQ(s.mode, Mode::async);
  EXPECT_EQ(s.stops, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(s.limit, 3);
}

TEST(Options, a_switch_can_be_turned_off_and_the_last_value_wins) {
  Settings s;
  s.shuffle = true;
  auto table = table_of(s);
  (void)read_arguments({"--no-rollout-shuffle", "--lr", "0.1", "--lr", "0.2"}, table);
  EXPECT_FALSE(s.shuffle);
  EXPECT_EQ(s.lr, 0.2);
  (void)read_arguments({"--no-rollout-shuffle", "--rollout-shuffle"}, table);
  EXPECT_TRUE(s.shuffle);
  (void)read_arguments({"--rollout-shuffle", "--rollout-shuffle", "--no-rollout-shuffle"}, table);
  EXPECT_FALSE(s.shuffle);
}

TEST(Options, an_unknown_flag_names_the_nearest) {
  Settings s;
  auto table = table_of(s);
  EXPECT_EQ(
      message_of([&] {
        (void)read_arguments({"--rolout-batch-size", "3"}, table);
      }),
      "command line: unknown flag '--rolout-batch-size'; did you mean '--rollout-batch-size'?");
}

TEST(Options, a_value_out_of_range_says_the_range) {
  Settings s;
  auto table = table_of(s);
  EXPECT_EQ(message_of([&] {
              (void)read_arguments({"--lr", "2"}, table);
            }),
            "--lr: value 2 is out of range; give a value from 0 to 1");
  EXPECT_EQ(message_of([&] {
              (void)read_arguments({"--lr", "nan"}, table);
            }),
            "--lr: value nan is out of range; give a value from 0 to 1");
  EXPECT_EQ(message_of([&] {
              (void)read_arguments({"--rollout-batch-size", "1e2"}, table);
            }),
            "--rollout-batch-size: '1e2' is not an integer; give a value from 1 to 1000");
  EXPECT_EQ(message_of([&] {
              (void)read_arguments({"--mode", "sink"}, table);
            }),
            "--mode: 'sink' is not a choice; choose one of: sync, async");
}

TEST(Options, a_negative_number_is_a_value_and_not_a_flag) {
  Settings s;
  auto table = table_of(s);
  EXPECT_EQ(message_of([&] {
              (void)read_arguments({"--rollout-batch-size", "-1"}, table);
            }),
            "--rollout-batch-size: value -1 is out of range; give a value from 1 to 1000");
}

TEST(Options, a_flag_without_its_value_is_an_error) {
  Settings s;
  auto table = table_of(s);
  EXPECT_THROW((void)read_arguments({"--lr"}, table), UserError);
}

TEST(Options, toml_keys_live_in_their_tables) {
  Settings s;
  auto table = table_of(s);
  read_toml(write_toml("[training]\nlr = 0.25\nrollout_batch_size = 4\n[run]\nmode = 'async'\n"
                       "stop_ids = [3, 4]\nrollout_shuffle = true\n"),
            table);
  EXPECT_EQ(s.lr, 0.25);
  EXPECT_EQ(s.batch, 4);
  EXPECT_EQ(s.mode, Mode::async);
  EXPECT_EQ(s.stops, (std::vector<std::int64_t>{3, 4}));
  EXPECT_TRUE(s.shuffle);
}

TEST(Options, toml_errors_name_line_and_nearest) {
  Settings s;
  auto table = table_of(s);
  auto error = [&](const std::string& text) {
    return message_of([&] { read_toml(write_toml(text), table); });
  };
  EXPECT_NE(error("[training]\nlrr = 1\n")
                .find(":2: unknown key 'lrr' in table [training]; did you mean 'lr'?"),
            std::string::npos);
  EXPECT_NE(error("[trainin]\nlr = 1\n").find("did you mean 'training'?"), std::string::npos);
  EXPECT_NE(error("[run]\nlr = 1\n").find("put it into [training]"), std::string::npos);
  EXPECT_NE(error("lr = 1\n").find("put it into [training]"), std::string::npos);
  EXPECT_NE(error("[training\n").find(":1:"), std::string::npos);
  EXPECT_NE(error("[training]\nlr = {a = 1}\n").find(":2: a value of this kind"),
            std::string::npos);
}

TEST(Options, a_missing_file_is_the_users_error) {
  Settings s;
  auto table = table_of(s);
  EXPECT_THROW(read_toml("/nowhere/x.toml", table), UserError);
}

TEST(Options, texts_are_one_text_or_an_array) {
  Settings s;
  auto table = table_of(s);
  using Texts = std::vector<std::string>;
  const std::vector<std::pair<std::string, Texts>> cases = {
      {"a, b c", {"a, b c"}},
      {R"(["a, b", "\n\n"])", {"a, b", "\n\n"}},
      {R"(["[END]", 'C:\n', "\u007f\"", "é"])", {"[END]", R"(C:\n)", "\x7f\"", "é"}},
      {R"([""])", {""}},
      {"[]", {}},
      {"", {}},
  };
  for (const auto& [value, texts] : cases) {
    (void)read_arguments({"--texts", value}, table);
    EXPECT_EQ(s.texts, texts) << value;
    Settings again;
    auto second = table_of(again);
    read_toml(write_toml(table.to_toml()), second);
    EXPECT_EQ(again.texts, texts) << table.to_toml();
  }
  read_toml(write_toml("[run]\ntexts = ['x,y', \"\\n\"]\n"), table);
  EXPECT_EQ(s.texts, (Texts{"x,y", "\n"}));
  read_toml(write_toml("[run]\ntexts = 'x,y'\n"), table);
  EXPECT_EQ(s.texts, Texts{"x,y"});
}

TEST(Options, texts_that_begin_like_an_array_must_be_one) {
  Settings s;
  auto table = table_of(s);
  for (const std::string bad :
       {"[", "[END]", "[1]", "[\"a\", 2]", "[\"a\"]\nlr = 1", "[[\"a\"]]", "[\"\xff\"]"}) {
    EXPECT_EQ(message_of([&] {
                (void)read_arguments({"--texts", bad}, table);
              }),
              "--texts: what begins with [ is not an array of quoted texts; write it as "
              R"(["one", "line\nbreak"])");
  }
}

TEST(Options, the_resolved_form_reads_back) {
  Settings s;
  s.texts = {"a, \"b\"", "[c]", "\n\x7f"};
  s.lr = 0.125;
  s.stops = {1};
  s.name = "a \"b\"";
  auto table = table_of(s);
  const auto path = write_toml(table.to_toml());
  Settings again;
  auto second = table_of(again);
  read_toml(path, second);
  EXPECT_EQ(again.lr, 0.125);
  EXPECT_EQ(again.stops, s.stops);
  EXPECT_EQ(again.texts, s.texts);
  EXPECT_EQ(again.name, s.name);
  EXPECT_FALSE(again.limit.has_value());
  EXPECT_EQ(second.to_toml(), table.to_toml());
}

}  // namespace
}  // namespace physarum::base
