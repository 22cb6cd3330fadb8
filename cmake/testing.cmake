# add_room_test(<room> <name> [RANKS n...] [TIMEOUT s] [LIBRARIES t...] SOURCES file...)
# Without RANKS: one executable, one CTest entry, no launcher. With RANKS: one CTest entry per rank
# count under the launcher; the executable must use the MPI test main (tests/support/mpi_main.cpp).
# Label = room. PROCESSORS tells ctest -j how many cores an entry takes.
find_package(GTest REQUIRED)

find_program(PHYSARUM_MPIRUN NAMES mpirun mpiexec HINTS ${PHYSARUM_MPI_PREFIX}/bin NO_DEFAULT_PATH)
physarum_require(PHYSARUM_MPIRUN "mpirun below ${PHYSARUM_MPI_PREFIX}/bin" "Run jobs/setup.sh or set -DPHYSARUM_MPI_PREFIX=...")

# In a sanitizer build, `asan_tests` builds the unit tests; they carry the label asan there. The ones that
# link a library of their own (LibTorch, which is not instrumented and slow to compile) stay outside.
add_custom_target(asan_tests)

# _physarum_unit_entry(<entry> <room> <target> <timeout>): label and time-out of an entry without launcher; its place in
# a sanitizer build. OUTSIDE: not there.
function(_physarum_unit_entry entry room target timeout)
  cmake_parse_arguments(A "OUTSIDE" "" "" ${ARGN})
  set(labels ${room})
  if(PHYSARUM_SANITIZE AND NOT A_OUTSIDE)
    add_dependencies(asan_tests ${target})
    list(APPEND labels asan)
    # Damaged files ask libraries for memory without end; without the option that ends the program, not the call.
    set_tests_properties(${entry} PROPERTIES ENVIRONMENT "ASAN_OPTIONS=allocator_may_return_null=1:suppressions=${PROJECT_SOURCE_DIR}/tests/support/asan_suppressions.txt;LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/leak_suppressions.txt:print_suppressions=0")
  endif()
  set_tests_properties(${entry} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout})
endfunction()

function(add_room_test room name)
  cmake_parse_arguments(A "" "TIMEOUT" "RANKS;SOURCES;LIBRARIES" ${ARGN})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 600)
  endif()
  set(target ${room}_${name}_test)
  add_executable(${target} ${A_SOURCES})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/${room})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src/${room})
  target_link_libraries(${target} PRIVATE physarum_${room} physarum_flags GTest::gtest ${A_LIBRARIES})
  # The tests themselves need no speed; what they test is compiled as always.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_compile_definitions(${target} PRIVATE
    PHYSARUM_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/${room}/data" PHYSARUM_INPUTS="${PROJECT_SOURCE_DIR}/inputs")
  if(A_RANKS)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/mpi_main.cpp)
    target_link_libraries(${target} PRIVATE physarum_parallel)
    foreach(ranks IN LISTS A_RANKS)
      set(entry ${room}.${name}.${ranks})
      add_test(NAME ${entry} COMMAND ${CMAKE_COMMAND} -E env PHYSARUM_MPIRUN=${PHYSARUM_MPIRUN}
        ${PROJECT_SOURCE_DIR}/jobs/launch -n ${ranks} --program $<TARGET_FILE:${target}>)
      set_tests_properties(${entry} PROPERTIES LABELS ${room} PROCESSORS ${ranks} TIMEOUT ${A_TIMEOUT})
    endforeach()
  else()
    target_link_libraries(${target} PRIVATE GTest::gtest_main)
    add_test(NAME ${room}.${name} COMMAND ${target})
    if(A_LIBRARIES)
      set(outside OUTSIDE)
    endif()
    _physarum_unit_entry(${room}.${name} ${room} ${target} ${A_TIMEOUT} ${outside})
  endif()
endfunction()

# add_lost_rank_test(<room> <name> RANKS n TIMEOUT s SAYS regex): tests/<room>/<name>_program.cpp, in which a rank dies,
# where MPI can tell (ULFM). The launcher's code is no verdict there: what the others say is.
function(add_lost_rank_test room name)
  cmake_parse_arguments(A "" "RANKS;TIMEOUT;SAYS" "" ${ARGN})
  if(NOT PHYSARUM_HAVE_ULFM)
    return()
  endif()
  set(target ${room}_${name}_program)
  add_executable(${target} ${name}_program.cpp)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/${room})
  target_link_libraries(${target} PRIVATE physarum_${room} physarum_flags)
  add_test(NAME ${room}.${name} COMMAND ${CMAKE_COMMAND} -E env PHYSARUM_MPIRUN=${PHYSARUM_MPIRUN}
    ${PROJECT_SOURCE_DIR}/jobs/launch -n ${A_RANKS} --with-ft --program $<TARGET_FILE:${target}>)
  set_tests_properties(${room}.${name} PROPERTIES LABELS ${room} PROCESSORS ${A_RANKS} TIMEOUT ${A_TIMEOUT}
    PASS_REGULAR_EXPRESSION "${A_SAYS}")
endfunction()

# add_fuzz_target(<room> <name> [MUTATIONS n]): tests/<room>/fuzz_<name>.cpp defines LLVMFuzzerTestOneInput, its corpus
# is the folder tests/<room>/corpus/<name>. CTest runs the corpus and MUTATIONS inputs made from it (default 2000).
function(add_fuzz_target room name)
  cmake_parse_arguments(A "" "MUTATIONS" "" ${ARGN})
  if(NOT A_MUTATIONS)
    set(A_MUTATIONS 2000)
  endif()
  set(target ${room}_fuzz_${name})
  add_executable(${target} fuzz_${name}.cpp ${PROJECT_SOURCE_DIR}/tests/support/fuzz_main.cpp)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/${room})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src/${room})
  target_link_libraries(${target} PRIVATE physarum_${room} physarum_flags)
  add_test(NAME ${room}.fuzz_${name}
    COMMAND ${target} ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name} ${A_MUTATIONS})
  _physarum_unit_entry(${room}.fuzz_${name} ${room} ${target} 300)
endfunction()
