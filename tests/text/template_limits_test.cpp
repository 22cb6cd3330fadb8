// Templates that ask for too much, and what is said of mistakes.
#include <string>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "physarum/text/chat_template.hpp"

namespace physarum::text {
namespace {

/// What is said about a template; fails if it renders.
std::string complaint(const std::string& source, const TemplateLimits& limits = {}) {
  Conversation conversation;
  conversation.messages = {{{"role", "user"}, {"content", "Hi"}}};
  try {
    const std::string text =
        ChatTemplate::from_text(source, "chat", {}, limits).render(conversation);
    ADD_FAILURE() << "renders to " << text.size() << " bytes: " << text.substr(0, 100);
    return text;
  } catch (const base::UserError& error) {
    return error.what();
  }
}

void expect_complaint(const std::string& source, const std::string& part,
                      const TemplateLimits& limits = {}) {
  const std::string said = complaint(source, limits);
  EXPECT_NE(said.find(part), std::string::npos) << source.substr(0, 200) << "\n  says: " << said;
}

std::string repeat(const std::string& text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

TEST(TemplateErrors, name_the_line_and_column) {
  expect_complaint("a\nb {{ 1 / 0 }}", "chat:2:");
  expect_complaint("a\nb {{ 1 / 0 }}", "chat:2:8");
  expect_complaint("ü {{ nope() }}", "chat:1:");
  expect_complaint("\n\n  {% if x %}", "chat:3:6");
  expect_complaint("{{ 'a' | nope }}", "there is no filter 'nope'");
  expect_complaint("{{ 'a' | nope }}", "chat:1:10");
  expect_complaint("x{% nope %}", "there is no tag 'nope'");
  expect_complaint("{{ 1 is nope }}", "there is no test 'nope'");
}

TEST(TemplateErrors, name_what_there_is_not_here) {
  expect_complaint("{% include 'x' %}", "'include' is not supported");
  expect_complaint("{% for x in messages recursive %}{% endfor %}", "'recursive' is not supported");
  expect_complaint("{{ cycler(1) }}", "'cycler' is not supported");
  expect_complaint("{{ 'a'.encode() }}", "str.encode is not supported");
  expect_complaint("{{ '{:d}'.format(1) }}", "'{:d}' of str.format is not supported");
  expect_complaint("{{ 'x' | urlize }}", "there is no filter 'urlize'");
}

TEST(TemplateErrors, say_that_a_date_is_missing) {
  expect_complaint("{{ strftime_now('%Y') }}", "without a date");
}

TEST(TemplateErrors, pass_on_what_the_template_says) {
  expect_complaint("{{ raise_exception('roles must alternate') }}", "roles must alternate");
}

TEST(TemplateErrors, refuse_text_that_is_not_utf8) {
  expect_complaint("a\xff", "not UTF-8");
  Conversation conversation;
  conversation.messages = {{{"role", "user"}, {"content", "\xc3("}}};
  const auto chat_template = ChatTemplate::from_text("{{ messages[0].content }}", "chat");
  EXPECT_THROW((void)chat_template.render(conversation), base::UserError);
}

TEST(TemplateErrors, refuse_conversations_of_another_form) {
  const auto chat_template = ChatTemplate::from_text("x", "chat");
  Conversation conversation;
  EXPECT_THROW((void)chat_template.render(conversation), base::UserError) << "no messages";
  conversation.messages = "text";
  EXPECT_THROW((void)chat_template.render(conversation), base::UserError);
  conversation.messages = {1};
  EXPECT_THROW((void)chat_template.render(conversation), base::UserError);
  conversation.messages = {{{"role", "user"}}};
  EXPECT_EQ(chat_template.render(conversation), "x");
  conversation.tools = "tools";
  EXPECT_THROW((void)chat_template.render(conversation), base::UserError);
  conversation.tools = nullptr;
  conversation.arguments = {{"messages", 1}};
  EXPECT_THROW((void)chat_template.render(conversation), base::UserError);
}

TEST(TemplateLimits, bound_the_steps_of_loops) {
  TemplateLimits limits;
  limits.steps = 100000;
  expect_complaint("{% for a in range(1000) %}{% for b in range(1000) %}{% endfor %}{% endfor %}",
                   "more than 100000 steps", limits);
}

TEST(TemplateLimits, bound_the_output) {
  TemplateLimits limits;
  limits.output_bytes = 1000;
  expect_complaint("{% for a in range(200) %}123456{% endfor %}", "prints more than 1000 bytes",
                   limits);
  expect_complaint("{{ 'x' * 1001 }}", "prints more than 1000 bytes", limits);
}

TEST(TemplateLimits, bound_the_memory_of_values) {
  TemplateLimits limits;
  limits.value_bytes = std::size_t{4} << 20;
  expect_complaint("{{ 'x' * 99999999999 }}", "bytes", limits);
  expect_complaint("{{ ([0] * 99999999999) | length }}", "bytes", limits);
  expect_complaint(
      "{% set ns = namespace(x='ab') %}{% for i in range(99) %}"
      "{% set ns.x = ns.x + ns.x %}{% endfor %}",
      "bytes", limits);
  expect_complaint(
      "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}"
      "{% set ns.x = ns.x + ns.x %}{% endfor %}",
      "bytes", limits);
  expect_complaint("{{ '%999999999999d' % 1 }}", "too wide", limits);
  expect_complaint("{{ 'a'.center(99999999999) }}", "bytes", limits);
  expect_complaint("{{ 'a' | indent(99999999999, true) }}", "bytes", limits);
  expect_complaint("{{ 'a'.replace('', 'x' * 1000).replace('x', 'y' * 100000) }}", "bytes", limits);
}

TEST(TemplateLimits, bound_the_time_of_searches) {
  // Plain search would compare 10¹² characters: the answer must come, soon, and be right.
  const std::string make = "{% set a = 'a' * 2000000 %}{% set b = 'a' * 500000 %}";
  Conversation conversation;
  conversation.messages = {{{"role", "user"}, {"content", "Hi"}}};
  const auto render = [&](const std::string& source) {
    return ChatTemplate::from_text(make + source, "chat").render(conversation);
  };
  EXPECT_EQ(render("{{ a.find(b ~ 'b') }} {{ (a ~ 'b').find(b ~ 'b') }}"), "-1 1500000");
  EXPECT_EQ(render("{{ a.rfind('b' ~ b) }} {{ ('b' ~ a).rfind('b' ~ b) }}"), "-1 0");
  EXPECT_EQ(render("{{ (b ~ 'b') in a }} {{ b in a }}"), "False True");
  EXPECT_EQ(render("{{ a.count(b) }} {{ a.split(b) | length }} {{ a.rsplit(b, 2) | length }}"),
            "4 5 3");
  EXPECT_EQ(render("{{ a.replace(b, 'x') }} {{ (a ~ 'c').partition(b)[2] | length }}"),
            "xxxx 1500001");
}

TEST(TemplateLimits, bound_the_nesting_of_values) {
  expect_complaint(
      "{% set ns = namespace(x=[]) %}{% for i in range(1000) %}"
      "{% set ns.x = [ns.x] %}{% endfor %}",
      "values are nested deeper than 100");
  expect_complaint(
      "{% set ns = namespace(x={}) %}{% for i in range(1000) %}"
      "{% set ns.x = {'a': ns.x} %}{% endfor %}",
      "values are nested deeper than 100");
  expect_complaint(
      "{% set ns = namespace(x=1) %}{% for i in range(1000) %}"
      "{% for j in [ns.x] %}{% set ns.x = loop %}{% endfor %}{% endfor %}",
      "values are nested deeper than 100");
}

TEST(TemplateLimits, bound_what_shared_values_print) {
  expect_complaint(
      "{% set ns = namespace(x=['a']) %}{% for i in range(60) %}"
      "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x | tojson | length }}",
      "more than");
  expect_complaint(
      "{% set ns = namespace(x=['a'], y=['a']) %}{% for i in range(60) %}"
      "{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}"
      "{{ ns.x == ns.y }}",
      "more than");
  expect_complaint(
      "{% set ns = namespace(x=(1,)) %}{% for i in range(60) %}"
      "{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ {ns.x: 1} }}",
      "cannot be a key");
}

TEST(TemplateLimits, bound_recursion) {
  expect_complaint("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "calls itself");
  expect_complaint("{% macro m() %}{% call m() %}{% endcall %}{{ caller }}{% endmacro %}{{ m() }}",
                   "calls itself");
}

TEST(TemplateLimits, bound_the_nesting_of_the_source) {
  expect_complaint("{{ " + repeat("(", 100000) + "1" + repeat(")", 100000) + " }}",
                   "nested deeper than 200");
  expect_complaint("{{ " + repeat("[", 100000) + repeat("]", 100000) + " }}",
                   "nested deeper than 200");
  expect_complaint("{{ " + repeat("not ", 100000) + "1 }}", "nested deeper than 200");
  expect_complaint("{{ " + repeat("-", 100000) + "1 }}", "nested deeper than 200");
  expect_complaint("{{ 1" + repeat(" + 1", 100000) + " }}", "more than 200 levels");
  expect_complaint("{{ 1" + repeat("|string", 50000) + " }}", "more than 200 levels");
  expect_complaint("{{ x" + repeat(".a", 50000) + " }}", "more than 200 levels");
  expect_complaint("{{ x" + repeat("()", 50000) + " }}", "more than 200 levels");
  expect_complaint(repeat("{% if 1 %}", 40000), "nested deeper than 200");
  expect_complaint("{% set " + repeat("(", 40000) + "a" + repeat(")", 40000) + " = 1 %}",
                   "nested deeper than 200");
  expect_complaint("{{ " + repeat("1 if 1 else ", 40000) + "1 }}", "nested deeper than 200");
}

TEST(TemplateLimits, bound_the_size_of_the_source) {
  TemplateLimits limits;
  limits.template_bytes = 10;
  expect_complaint("12345678901", "at most 10", limits);
}

TEST(TemplateLimits, bound_the_nesting_of_a_conversation) {
  nlohmann::ordered_json deep = 1;
  for (int i = 0; i < 200; ++i) deep = nlohmann::ordered_json::array({deep});
  Conversation conversation;
  conversation.messages = {{{"role", "user"}, {"content", deep}}};
  const auto chat_template = ChatTemplate::from_text("x", "chat");
  EXPECT_THROW((void)chat_template.render(conversation), base::UserError);
}

TEST(Template, namespaces_and_macros_that_hold_each_other_are_let_go) {
  Conversation conversation;
  conversation.messages = {{{"role", "user"}, {"content", "Hi"}}};
  const auto chat_template = ChatTemplate::from_text(
      "{% set ns = namespace() %}{% set ns.me = ns %}{% set ns.list = [ns] %}"
      "{% for i in [1] %}{% macro m() %}{{ i }}{% endmacro %}{% set ns.m = m %}{% endfor %}"
      "{{ ns.m() }}{{ ns.me.list[0].me is sameas ns }}",
      "chat");
  EXPECT_EQ(chat_template.render(conversation), "1True");
}

TEST(ChatDate, takes_dates_with_and_without_a_time) {
  const ChatDate date = ChatDate::parse("2024-02-29T01:02:03", "here");
  EXPECT_EQ(date.day, 29);
  EXPECT_EQ(date.second, 3);
  EXPECT_EQ(ChatDate::parse("2025-07-31", "here").hour, 0);
  for (const char* bad :
       {"2025-02-29", "2025-13-01", "2025-00-01", "2025-1-1", "25-01-01", "", "2025-01-01T24:00:00",
        "2025-01-01 ", "2025-01-01T1:00:00", "0000-01-01"}) {
    EXPECT_THROW((void)ChatDate::parse(bad, "here"), base::UserError) << bad;
  }
}

}  // namespace
}  // namespace physarum::text
