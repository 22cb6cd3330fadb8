#include "physarum/app/main.hpp"

int main(int argc, char** argv) { return physarum::app::run(argc, argv); }
