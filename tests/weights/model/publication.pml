/* The publication protocol of the weight store (docs/weights.md), for the model checker Spin.
 *
 * One publisher (the trainer ranks agree before every phase, so they act as one), a folding process on each of B buffer
 * ranks, one engine that pulls. Readers write nothing but `wanted`, so one engine stands for any number; `wanted` may
 * be set by "another engine" at any time. Every access to a window is a step of its own: a word, one element of a slot,
 * one frame of a ring entry. The image has C elements on each buffer rank; a frame covers one of them. The value of an
 * element is the version that changed it last, so a mixed image shows.
 *
 * Words hold the version itself, 0 is none; names are those of StoreWords. Versions leave no number out here, so a delta's
 * base and the version before a full one are the target less one and have no words.
 *
 * Claims (tests/weights/model/check.sh):
 *   - no mixed image: whenever the engine's second look at the words lets it apply what it fetched, the result is
 *     exactly the image of its target version, before any digest is compared;
 *   - a fold never reads a frame that is not the one it wants, unless its slot is given up already;
 *   - the publisher publishes all N versions though the engine may stop for ever anywhere (published);
 *   - an engine that does not stop gets the newest version in the end (served), without a wrong digest on the way.
 * With -DFAULT=n one rule is left out; then the checker must find an error (that the claims can fail is checked so):
 *   1 the publisher does not clear an entry's word before it puts a new delta there
 *   2 the engine does not look at the words again
 *   3 the publisher does not wait for the fold of the entry that it reuses
 *   4 the engine takes a full shard that was overtaken by a fold as it is
 *   5 the publisher opens a slot although a fold is still writing into it
 *   6 the delta becomes visible before it is put
 *   7 the engine looks at the words once after its fetch, not until two looks are equal: a get has no order
 *   8 the engine does not ask whether its slot, no longer active, may hold half of a delta
 *   9 the publisher waits until the engine has the version before
 */
#ifndef B
#define B 1
#endif
#ifndef C
#define C 2
#endif
#ifndef N
#define N 4
#endif
#ifndef RING
#define RING 2 /* places: one more than deltas that can be read */
#endif
#ifndef FAULT
#define FAULT 0
#endif

#define AT(b, i) ((b) * C + (i))
#define SLOT(b, s, i) (((b) * 2 + (s)) * C + (i))
#define WORD(b, s) ((b) * 2 + (s))
#define ENTRY(b, v) ((b) * RING + (v) % RING)
#define FRAME(b, v, i) (ENTRY(b, v) * C + (i))

/* The windows. */
byte newest[B], active_[B], busy[B], base[B * 2], content[B * 2], entry[B * RING];
byte slot_element[B * 2 * C];
byte frame_version[B * RING * C]; /* target version in the frame's head; half-written: 0 */
bit frame_changes[B * RING * C];  /* the frame changes its element */
bit wanted;

/* What every version's image is: version 1 sets all elements, version v changes those with index v modulo C, and with
 * -DALL_CHANGES any others too. Not part of the protocol. */
#ifdef ALL_CHANGES
byte truth[(N + 1) * B * C];
#define TRUTH(v, b, i) truth[(v) * B * C + AT(b, i)]
#else
#define LAST_CHANGE(v, i) ((v) - ((v) + C - (i)) % C)
#define TRUTH(v, b, i) (LAST_CHANGE(v, i) >= 1 -> LAST_CHANGE(v, i) : 1)
#endif

bool published, served, stopped;
#if FAULT == 9
byte engine_has;
#endif

active proctype publisher() {
  byte v = 1, b, i, s;
  bit delta, change;
  do
  :: v > N -> break
  :: else ->
#ifdef ALL_CHANGES
    atomic {
      b = 0; i = 0;
      do
      :: b == B -> break
      :: b < B ->
        if
        :: v == 1 || i == v % C -> TRUTH(v, b, i) = v
        :: v > 1 -> TRUTH(v, b, i) = v
        :: v > 1 -> TRUTH(v, b, i) = TRUTH(v - 1, b, i)
        fi;
        i++;
        if :: i == C -> i = 0; b++ :: else fi
      od
    }
#endif
#if FAULT == 9
    v == 1 || engine_has == v - 1;
#endif
    delta = 0;
    if
    :: v > 1 -> delta = 1
    :: true /* too many changes, or a version was left out */
    fi;
    if :: delta && wanted -> delta = 0 :: else fi;
    b = B;
    do
    :: !delta || b == 0 -> break
    :: else ->
      b--;
      s = active_[0] - 1;
#if FAULT != 3
      if :: content[WORD(b, s)] + RING < v -> delta = 0 :: else fi
#endif
    od;
    if
    :: delta ->
      b = B;
      do
      :: b == 0 -> break
      :: else ->
        b--;
#if FAULT == 6
        entry[ENTRY(b, v)] = v
#elif FAULT != 1
        entry[ENTRY(b, v)] = 0
#endif
      od;
      if :: delta = 1 :: delta = 0 fi /* a trainer rank's part is too long after all */
    :: else
    fi;

    if
    :: delta ->
      atomic { b = 0; i = 0 }
      do
      :: b == B -> break
      :: b < B ->
        frame_version[FRAME(b, v, i)] = 0;
        d_step {
          change = (TRUTH(v, b, i) == v);
          frame_changes[FRAME(b, v, i)] = change;
          frame_version[FRAME(b, v, i)] = v;
          i++; if :: i == C -> i = 0; b++ :: else fi
        }
      od;
      b = B;
      do :: b == 0 -> break :: else -> b--; entry[ENTRY(b, v)] = v od
    :: else ->
      s = (active_[0] == 1 -> 1 : 0);
      b = B;
      do
      :: b == 0 -> break
      :: else ->
        b--;
#if FAULT != 5
        busy[b] != s + 1; /* the only wait: a buffer rank ends its turn of folding */
#endif
        base[WORD(b, s)] = 0;
        content[WORD(b, s)] = 0
      od;
      atomic { b = 0; i = 0 }
      do
      :: b == B -> break
      :: b < B ->
        d_step {
          slot_element[SLOT(b, s, i)] = TRUTH(v, b, i);
          i++; if :: i == C -> i = 0; b++ :: else fi
        }
      od;
      b = B;
      do
      :: b == 0 -> break
      :: else ->
        b--;
        content[WORD(b, s)] = v;
        base[WORD(b, s)] = v;
        active_[b] = s + 1
      od;
      wanted = 0
    fi;
    b = B;
    do :: b == 0 -> break :: else -> b--; newest[b] = v od;
    v++
  od;
  published = true
}

active [B] proctype fold() {
  byte b = _pid - 1; /* the publisher is process 0 */
  byte s, was, v, i;
end:
  do
  :: active_[b] != 0 ->
    s = active_[b] - 1;
    was = base[WORD(b, s)];
    v = content[WORD(b, s)] + 1;
    if
    :: was == 0 || v == 1 || v > N -> goto look
    :: else
    fi;
    if :: entry[ENTRY(b, v)] != v -> goto look :: else fi;
    i = 0;
turn:
    /* A turn: some frames of the delta. Between two turns the buffer rank does other work. */
    busy[b] = s + 1;
    if
    :: active_[b] != s + 1 || base[WORD(b, s)] != was -> busy[b] = 0; goto look
    :: else
    fi;
    do
    :: i == C -> content[WORD(b, s)] = v; busy[b] = 0; break
    :: i < C ->
      if
      :: frame_version[FRAME(b, v, i)] == v ->
        d_step {
          if :: frame_changes[FRAME(b, v, i)] -> slot_element[SLOT(b, s, i)] = v :: else fi;
          i++
        }
      :: else ->
        /* The frame's digest or its head tells. Only a slot that was given up can lose its deltas. */
        assert(active_[b] != s + 1 || base[WORD(b, s)] != was);
        busy[b] = 0;
        break
      fi
    :: i > 0 && i < C -> busy[b] = 0; goto turn
    od;
look:
    skip; /* nothing to do until something changes */
end_idle:
    (active_[b] != 0 && base[WORD(b, active_[b] - 1)] != 0 && content[WORD(b, active_[b] - 1)] != 0 &&
     content[WORD(b, active_[b] - 1)] < N &&
     entry[ENTRY(b, content[WORD(b, active_[b] - 1)] + 1)] == content[WORD(b, active_[b] - 1)] + 1)
  od
}

/* Each word by itself; a get may bring them in any order. */
inline read_words() {
  b = 0;
  do
  :: b == B -> break
  :: b < B ->
#ifdef DOWNWARDS
    i = RING;
    do :: i == 0 -> break :: else -> i--; r_entry[b * RING + i] = entry[b * RING + i] od;
    r_content[WORD(b, 1)] = content[WORD(b, 1)];
    r_content[WORD(b, 0)] = content[WORD(b, 0)];
    r_base[WORD(b, 1)] = base[WORD(b, 1)];
    r_base[WORD(b, 0)] = base[WORD(b, 0)];
    r_active[b] = active_[b];
#else
    r_active[b] = active_[b];
    r_base[WORD(b, 0)] = base[WORD(b, 0)];
    r_base[WORD(b, 1)] = base[WORD(b, 1)];
    r_content[WORD(b, 0)] = content[WORD(b, 0)];
    r_content[WORD(b, 1)] = content[WORD(b, 1)];
    i = 0;
    do :: i == RING -> break :: else -> r_entry[b * RING + i] = entry[b * RING + i]; i++ od;
#endif
    b++
  od;
  i = 0
}

/* ok = the ring has a delta to every version after x up to y. */
inline has_chain(x, y) {
  ok = (y <= x + RING);
  k = x + 1;
  do
  :: !ok || k > y -> break
  :: else -> ok = (r_entry[ENTRY(b, k)] == k); k++
  od;
  k = 0
}

#define HAS_DELTA_TO(v) (r_entry[ENTRY(b, v)] == (v))
#define RING_ENTRY 2
inline find_digests() {
  if
  :: HAS_DELTA_TO(target) -> digests[b] = RING_ENTRY
  :: else ->
    if
    :: r_base[WORD(b, 0)] == target -> digests[b] = 0
    :: r_base[WORD(b, 1)] == target -> digests[b] = 1
    :: else -> ok = 0
    fi
  fi
}

inline slot_usable(s) {
  if
  :: r_base[WORD(b, s)] == 0 || r_content[WORD(b, s)] == 0 || r_content[WORD(b, s)] > target -> ok = 0
  :: else ->
    has_chain(r_content[WORD(b, s)], target);
    if
    :: ok && r_active[b] != s + 1 -> ok = (r_base[WORD(b, 1 - s)] == r_content[WORD(b, s)] + 1)
    :: else
    fi
  fi
}

active proctype engine() {
  byte r_active[B], r_base[B * 2], r_content[B * 2], r_entry[B * RING]; /* copies of the words */
#ifdef WORD_BY_WORD
  byte w_active[B], w_base[B * 2], w_content[B * 2], w_entry[B * RING];              /* of the look before this one */
#endif
  byte o_base[B * 2];                                                   /* bases before the fetch */
  byte digests[B];                 /* where the target's digests are: RING_ENTRY or a slot */
  byte image[B * C];
  byte got_version[B * RING * C];  /* frames, as fetched: by buffer, version modulo RING, element */
  bit got_changes[B * RING * C];
  byte b, i, k, v, target, ahead, mine;
  byte from[B], slot[B]; /* slot + 1; 0: deltas alone */
  bit ok, taken, over;
  do
#ifdef STOPS
  :: stopped = true; goto ended
#endif
  :: newest[0] != 0 ->
plan:
    taken = 0;
    target = newest[0];
    if :: target == mine -> goto current :: else fi;
    read_words();
    atomic {
      b = 0;
      do
      :: b == B -> break
      :: b < B ->
        ok = 1;
        find_digests();
        if :: !ok -> goto lost :: else fi;
        slot[b] = 0;
        if
        :: mine != 0 && mine < target -> has_chain(mine, target)
        :: else -> ok = 0
        fi;
        if
        :: ok -> from[b] = mine
        :: else ->
          from[b] = 0;
          v = 0;
          do
          :: v == 2 -> break
          :: else ->
            slot_usable(v);
            if
            :: ok && r_content[WORD(b, v)] > from[b] -> from[b] = r_content[WORD(b, v)]; slot[b] = v + 1
            :: else
            fi;
            v++
          od;
          if :: slot[b] == 0 -> goto lost :: else fi
        fi;
        b++
      od;
      b = 0; v = 0; ok = 0
    }
fetch:
    atomic {
      /* What check_places() compares with later. */
      i = 0;
      do :: i == B * 2 -> break :: else -> o_base[i] = r_base[i]; i++ od;
      i = 0
    }
    b = 0;
    do
    :: b == B -> break
    :: b < B ->
      if
      :: slot[b] != 0 && !taken ->
        mine = 0; /* the image is touched */
        i = 0;
        do
        :: i == C -> break
        :: i < C -> d_step { image[AT(b, i)] = slot_element[SLOT(b, slot[b] - 1, i)]; i++ }
        od
      :: else
      fi;
      v = from[b] + 1;
      do
      :: v > target -> break
      :: else ->
        i = 0;
        do
        :: i == C -> break
        :: i < C ->
          d_step {
            got_version[FRAME(b, v, i)] = frame_version[FRAME(b, v, i)];
            got_changes[FRAME(b, v, i)] = frame_changes[FRAME(b, v, i)];
            i++
          }
        od;
        v++
      od;
      b++
    od;
    atomic { b = 0; i = 0; v = 0 }
#if FAULT != 2
    ahead = newest[0];
#if defined(WORD_BY_WORD) || FAULT == 7
    read_words();
#endif
#ifdef WORD_BY_WORD
    /* Twice: if nothing changed, all words were so at one moment. */
    atomic {
      i = 0;
      do :: i == B * 2 -> break :: else -> w_base[i] = r_base[i]; w_content[i] = r_content[i]; i++ od;
      i = 0;
      do :: i == B * RING -> break :: else -> w_entry[i] = r_entry[i]; i++ od;
      i = 0;
      do :: i == B -> break :: else -> w_active[i] = r_active[i]; i++ od;
      i = 0
    }
    read_words();
    atomic {
      ok = 1; i = 0;
      do
      :: i == B * 2 -> break
      :: else -> ok = ok && w_base[i] == r_base[i] && w_content[i] == r_content[i]; w_base[i] = 0; w_content[i] = 0; i++
      od;
      i = 0;
      do :: i == B * RING -> break :: else -> ok = ok && w_entry[i] == r_entry[i]; w_entry[i] = 0; i++ od;
      i = 0;
      do :: i == B -> break :: else -> ok = ok && w_active[i] == r_active[i]; w_active[i] = 0; i++ od;
      i = 0;
      if :: !ok -> goto lost :: else fi
    }
#elif FAULT != 7
    /* Two looks that are equal show the words of one moment, for no word gets a value again that it had (WORD_BY_WORD
     * checks that). Others cost an attempt. */
    if :: !published -> goto lost :: true fi;
    atomic { read_words() }
#endif
    atomic {
      b = 0; over = 0;
      do
      :: b == B -> break
      :: b < B ->
        if
        :: slot[b] != 0 && r_base[WORD(b, slot[b] - 1)] != o_base[WORD(b, slot[b] - 1)] -> goto lost
        :: else
        fi;
        if
        :: digests[b] == RING_ENTRY && !HAS_DELTA_TO(target) -> goto lost
        :: digests[b] != RING_ENTRY && r_base[WORD(b, digests[b])] != o_base[WORD(b, digests[b])] -> goto lost
        :: else
        fi;
#if FAULT != 8
        if
        :: slot[b] != 0 && r_active[b] != slot[b] &&
           r_base[WORD(b, 2 - slot[b])] != r_content[WORD(b, slot[b] - 1)] + 1 -> goto lost
        :: else
        fi;
#endif
        has_chain(from[b], target);
        if :: !ok -> goto lost :: else fi;
#if FAULT != 4
        if
        :: slot[b] != 0 && (r_content[WORD(b, slot[b] - 1)] > target || HAS_DELTA_TO(target + 1)) -> over = 1
        :: else
        fi;
#endif
        b++
      od;
      b = 0; ok = 0;
      if
      :: over ->
        over = 0;
        if :: ahead <= target -> goto lost :: else fi;
        target = ahead;
        do
        :: b == B -> break
        :: b < B ->
          ok = 1;
          find_digests();
          if :: !ok -> goto lost :: else fi;
          has_chain(from[b], target);
          if :: !ok -> goto lost :: else fi;
          b++
        od;
        b = 0; ok = 0;
        taken = 1;
        goto fetch
      :: else
      fi
    }
#endif
    atomic {
      /* Apply, and what the digests would say. */
      mine = 0;
      b = 0;
      do
      :: b == B -> break
      :: b < B ->
        v = from[b] + 1;
        do
        :: v > target -> break
        :: else ->
          i = 0;
          do
          :: i == C -> break
          :: i < C ->
            assert(got_version[FRAME(b, v, i)] == v);
            if :: got_changes[FRAME(b, v, i)] -> image[AT(b, i)] = v :: else fi;
            i++
          od;
          v++
        od;
        i = 0;
        do
        :: i == C -> break
        :: i < C -> assert(image[AT(b, i)] == TRUTH(target, b, i)); i++
        od;
        b++
      od;
      b = 0; i = 0; v = 0; ok = 0;
      mine = target
#if FAULT == 9
      ; engine_has = mine
#endif
    }
lost:
current:
    /* What is not needed any more must not make states differ. */
    atomic {
      i = 0;
      do
      :: i == B -> break
      :: else -> r_active[i] = 0; digests[i] = 0; from[i] = 0; slot[i] = 0; i++
      od;
      i = 0;
      do :: i == B * 2 -> break :: else -> r_base[i] = 0; r_content[i] = 0; o_base[i] = 0; i++ od;
      i = 0;
      do :: i == B * RING -> break :: else -> r_entry[i] = 0; i++ od;
      i = 0;
      do :: i == B * RING * C -> break :: else -> got_version[i] = 0; got_changes[i] = 0; i++ od;
      i = 0;
      do :: i == B * C -> break :: mine != 0 && i < B * C -> i++ :: mine == 0 && i < B * C -> image[i] = 0; i++ od;
      b = 0; i = 0; v = 0; k = 0; ok = 0; over = 0; taken = 0; target = 0; ahead = 0
    }
    if
    :: published && mine == N -> served = true; goto ended
    :: else
    fi
  od;
ended:
  skip
}

/* Another engine, or a buffer rank, that asks for a full image once. */
active proctype other() {
  if :: wanted = 1 :: true fi
}

ltl writers_never_wait { <> published }
ltl engines_are_served { <> (served || stopped) }
