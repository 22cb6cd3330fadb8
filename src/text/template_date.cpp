#include <array>
#include <ctime>

#include "physarum/base/error.hpp"

#include "physarum/text/chat_template.hpp"

#include "template_functions.hpp"

namespace physarum::text {

namespace {

bool is_leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int days_in(int year, int month) {
  static constexpr std::array days = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return days[static_cast<std::size_t>(month - 1)] + (month == 2 && is_leap(year) ? 1 : 0);
}

/// Takes a number of so many digits off the front; −1 if it is not there.
int take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return -1;
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

bool is_valid(const ChatDate& date) {
  return date.year >= 1 && date.month >= 1 && date.month <= 12 && date.day >= 1 &&
         date.day <= days_in(date.year, date.month) && date.hour >= 0 && date.hour <= 23 &&
         date.minute >= 0 && date.minute <= 59 && date.second >= 0 && date.second <= 59;
}

}  // namespace

ChatDate ChatDate::parse(std::string_view text, std::string_view where) {
  ChatDate date;
  std::string_view rest = text;
  date.year = take_number(rest, 4);
  bool good = take(rest, '-');
  date.month = take_number(rest, 2);
  good = good && take(rest, '-');
  date.day = take_number(rest, 2);
  if (good && !rest.empty()) {
    good = take(rest, 'T');
    date.hour = take_number(rest, 2);
    good = good && take(rest, ':');
    date.minute = take_number(rest, 2);
    good = good && take(rest, ':');
    date.second = take_number(rest, 2);
  }
  if (!good || !rest.empty() || !is_valid(date)) {
    throw base::UserError("'" + std::string(text.substr(0, 40)) + "' is no date", where,
                          "write it as 2025-07-31 or 2025-07-31T12:00:00");
  }
  return date;
}

namespace jinja {

namespace {

/// Days of the year before this one, from 0.
int day_of_year(const ChatDate& date) {
  int days = date.day - 1;
  for (int month = 1; month < date.month; ++month) days += days_in(date.year, month);
  return days;
}

/// 0 is Sunday, by counting the days since the year 1 began, on a Monday.
int day_of_week(const ChatDate& date) {
  const int years = date.year - 1;
  return (years * 365 + years / 4 - years / 100 + years / 400 + day_of_year(date) + 1) % 7;
}

std::tm broken_down(const ChatDate& date) {
  std::tm time{};
  time.tm_year = date.year - 1900;
  time.tm_mon = date.month - 1;
  time.tm_mday = date.day;
  time.tm_hour = date.hour;
  time.tm_min = date.minute;
  time.tm_sec = date.second;
  time.tm_yday = day_of_year(date);
  time.tm_wday = day_of_week(date);
  time.tm_isdst = -1;
  return time;
}

}  // namespace

std::string format_date(Machine& machine, const ChatDate& date, const std::string& format) {
  static constexpr std::string_view known = "aAbBcdDeFGghHIjklmMnprRStTuUVwWxXyYC";
  const std::tm time = broken_down(date);
  std::string out;
  for (std::size_t at = 0; at < format.size(); ++at) {
    machine.charge(64);
    if (format[at] != '%' || at + 1 == format.size()) {
      out += format[at];
      continue;
    }
    std::string directive = "%";
    char c = format[++at];
    if ((c == '-' || c == '_' || c == '^' || c == '#') &&
        at + 1 < format.size()) {  // glibc's flags
      directive += c;
      c = format[++at];
    }
    directive += c;
    if (directive == "%%") {
      out += '%';
    } else if (directive == "%f") {
      out += "000000";
    } else if (directive == "%z" || directive == "%Z") {
      continue;  // a date without a zone prints none
    } else if (known.find(c) == std::string_view::npos) {
      machine.lacks("'" + directive + "' in the format of a date");
    } else {
      std::array<char, 128> buffer{};
      out.append(buffer.data(),
                 std::strftime(buffer.data(), buffer.size(), directive.c_str(), &time));
    }
  }
  return out;
}

}  // namespace jinja

}  // namespace physarum::text
