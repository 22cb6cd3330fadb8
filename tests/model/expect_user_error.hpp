#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

namespace physarum::model {

/// `call` throws a UserError whose text holds `part`.
template <class Call>
void expect_user_error(Call call, std::string_view part) {
  try {
    call();
    ADD_FAILURE() << "no error; expected one about: " << part;
  } catch (const base::UserError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

}  // namespace physarum::model
