# The room manifest: layer, name, the rooms it may use, the third-party libraries it may include.
# CMake makes the link targets from it, tests/checks/rooms.py holds every #include against it, and
# docs/rooms.md is printed from it. A room uses only rooms of lower layers, and of those only the
# ones listed here. A new edge is one word in one line, in a commit of its own with its reason.
#
#             layer name       USES ...                                          THIRD_PARTY ...
physarum_room(0 base          USES                                              THIRD_PARTY boost_log tomlplusplus cli11 xxhash)
physarum_room(1 parallel      USES base                                         THIRD_PARTY mpi)
physarum_room(1 text          USES base                                         THIRD_PARTY pcre2 utf8proc json)
physarum_room(2 storage       USES base parallel                                THIRD_PARTY hdf5 json)
physarum_room(3 sample        USES base storage                                 THIRD_PARTY json)
physarum_room(3 weights       USES base parallel storage                        THIRD_PARTY zstd)
physarum_room(4 exchange      USES base parallel sample                         THIRD_PARTY)
physarum_room(4 model         USES base parallel storage weights                THIRD_PARTY json)
physarum_room(4 environment   USES base text sample                             THIRD_PARTY json)
physarum_room(5 buffer        USES base exchange sample weights storage parallel THIRD_PARTY json)
physarum_room(5 rollout       USES base exchange environment model weights sample text parallel THIRD_PARTY)
physarum_room(5 training      USES base exchange model weights sample storage parallel THIRD_PARTY)
physarum_room(6 app           USES base parallel text storage sample weights exchange model environment buffer rollout training THIRD_PARTY json cli11 tomlplusplus)
