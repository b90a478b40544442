/* How a lane takes over a partition and commits (docs/kafka-tier.md, Fencing), for SPIN.

   Two workers of a group take turns at one partition of an agent. The broker has the partition's
   transactions, whose epoch fences older writers, the committed outputs of each record, the marker,
   and the group's offset. The network delays, reorders and loses requests and replies. A worker may
   stand still before any step while the group moves its partition, and go on later.

   Two faults of the past can be put back: END_TWICE sends a transaction's end again if its reply
   does not come; KEPT_OFFSETS keeps offsets that the group has refused over a rebalance. */

#define RECORDS 2
#define WORKERS 2

mtype = { BEGIN, OUTPUTS, MARKER, END };
mtype = { NONE, DONE, REFUSED, LOST };

/* transactions of the partition */
byte epoch = 0;
bool is_open = false, has_outputs = false, has_marker = false;
byte start, next, new_marker;
byte outputs[RECORDS];
byte marker = 0;

/* the group */
byte generation = 1, owner = 0, group_offset = 0;

/* requests on their way: kind, worker, number, epoch, two arguments */
chan network = [3] of { mtype, byte, byte, byte, byte, byte };
byte awaited[WORKERS];   /* number of the request whose reply a worker waits for */
mtype reply[WORKERS];
byte faults = 0;

inline end_transaction() {
    if
    :: has_outputs || has_marker ->
        assert(has_outputs && has_marker);  /* whole or not at all */
        assert(marker == start);            /* continues where the last one ended */
        at = start;
        do
        :: at < next -> outputs[at]++; assert(outputs[at] == 1); at++  /* once */
        :: else -> break
        od;
        marker = new_marker;
#ifdef FINISHED
        assert(marker < RECORDS)            /* fails if the model can finish */
#endif
    :: else
    fi;
    is_open = false; has_outputs = false; has_marker = false
}

active proctype Network() {
    mtype kind, result;
    byte worker, number, by, first, second, at;
    do
    :: atomic {
        network ? kind, worker, number, by, first, second;
        result = DONE;
        if
        :: nempty(network) -> network ! kind, worker, number, by, first, second; result = NONE
        :: faults < FAULTS -> faults++; result = LOST
        :: true ->
            if
            :: by != epoch -> result = REFUSED
            :: else ->
                if
                :: kind == BEGIN -> is_open = true
                :: kind == OUTPUTS && is_open -> has_outputs = true; start = first; next = second
                :: kind == MARKER && is_open -> has_marker = true; new_marker = first
                :: kind == END && is_open -> end_transaction()
                :: kind == END && !is_open    /* ended before */
                :: else -> result = REFUSED
                fi
            fi
        fi;
        if
        :: result != NONE && awaited[worker] == number ->
            if
            :: result != LOST && faults < FAULTS -> faults++; reply[worker] = LOST
            :: true -> reply[worker] = result
            fi
        :: else
        fi;
        kind = BEGIN; result = NONE; worker = 0; number = 0; by = 0; first = 0; second = 0; at = 0
    }
    od
}

active proctype Group() {
    byte left = REBALANCES;
    do
    :: atomic { left > 0 -> left--; generation++; if :: owner = 0 :: owner = 1 fi }
    :: left == 0 -> break
    od
}

/* Sends a request and waits for its reply, or gives up; `is_done` tells which. */
inline ask(kind, first, second) {
    atomic {
        number++; awaited[me] = number; reply[me] = NONE;
        network ! kind, me, number, writes_as, first, second
    };
    atomic {
        if
        :: reply[me] == DONE -> is_done = true
        :: reply[me] == REFUSED || reply[me] == LOST -> is_done = false
        :: reply[me] == NONE && faults < FAULTS -> faults++; is_done = false
        fi;
        reply[me] = NONE; awaited[me] = 0
    }
}

/* Commits the position to the group, which refuses a member of an older generation. */
inline report() {
    atomic {
        if
        :: unreported > 0 && joined == generation ->
            assert(unreported >= group_offset);  /* it never goes back */
            group_offset = unreported; unreported = 0
        :: else
        fi
    }
}

proctype Worker(byte me) {
    byte joined = 0, number = 0, writes_as = 0, position = 0, end = 0, unreported = 0;
    bool is_done = false;
join:  /* a rebalance: the lane has stopped */
    if
    :: report()
    :: true
    fi;
#ifndef KEPT_OFFSETS
    unreported = 0;
#endif
    joined = generation;
    do
    :: joined != generation -> goto join
    :: report()
    :: joined == generation && owner == me -> break
    od;
open:
    if
    :: joined != generation -> goto join
    :: true
    fi;
    atomic { epoch++; writes_as = epoch; is_open = false; has_outputs = false; has_marker = false };
    if
    :: joined == generation && owner == me
    :: else -> goto join
    fi;
    atomic { position = marker; unreported = position };
    do
    :: joined != generation -> goto join
    :: report()
    :: position < RECORDS ->
        if
        :: end = position + 1
        :: end = RECORDS
        fi;
        ask(BEGIN, 0, 0);
        if :: is_done -> ask(OUTPUTS, position, end) :: else fi;
        if :: is_done -> ask(MARKER, end, 0) :: else fi;
        if
        :: is_done ->
            ask(END, 0, 0);
#ifdef END_TWICE
            if :: is_done :: else -> ask(END, 0, 0) fi
#endif
        :: else
        fi;
        if
        :: is_done -> atomic { position = end; unreported = position }
        :: else -> goto open
        fi
    od
}

init { atomic { reply[0] = NONE; reply[1] = NONE; run Worker(0); run Worker(1) } }
