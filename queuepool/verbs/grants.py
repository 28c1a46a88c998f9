"""Which commands each role may use to write which keys. Pure.

A key that is not named here is read-only for the role, and a command that is not named for it is
refused on it. A test compares this with what the scripts of each role call.
"""

from __future__ import annotations

from collections.abc import Mapping

# Stem of a key -> commands.
Grant = Mapping[str, frozenset[str]]


def _grant(text: str) -> Grant:
    rows = (line.split() for line in text.strip().splitlines())
    return {stem: frozenset(commands) for stem, *commands in rows}


def _union(*grants: Grant) -> Grant:
    stems = dict.fromkeys(stem for grant in grants for stem in grant)
    return {stem: frozenset().union(*(g.get(stem, ()) for g in grants)) for stem in stems}


# Producers add jobs and never change a body. An owner's records of a job (attempts, crashes, error)
# they can only remove, when they cancel it.
PRODUCER = _grant("""
    j     hsetnx hdel
    q     rpush lpop unlink
    ring  rpush
    tr    rpush unlink
    tn    hset hincrby hdel unlink
    tt    hset hincrby pexpire unlink
    mt    hset hdel
    dl    zadd zrem
    du    zadd zrem
    dg    sadd srem unlink
    ua    hdel
    ht    hset
    at    hdel
    cr    hdel
    er    hdel
    cn    hset hdel
    cx    hset hdel
    dn    sadd unlink persist
    g     hset hincrby hdel persist pexpire unlink
    mg    hset hdel
    mn    sadd
    c     hset hincrby hdel
    wk    rpush unlink
    pl    hsetnx
    u     hset hdel
    uk    hset hdel
    ex    hset hdel
    lm    hset hdel
    ll    sadd
    gt    hset hincrby hdel
    ga    hset hincrby hdel
    gq    rpush lpop unlink
    gr    rpush lrem unlink
    gk    hdel
    gg    sadd srem unlink
    fo    xadd
    b     hset unlink
    bd    zadd
    ob    set
""")
# Consumers move jobs and end them. They cannot add one: jobs come from producers, and back from the
# dead by operators. The route record is made once, field by field; only operators change it.
CONSUMER = _grant("""
    j     hdel unlink
    q     rpush lpush lpop unlink
    ring  rpush lpush lpop rpop unlink
    tr    rpush lpush lpop unlink
    tn    hset hincrby hdel unlink
    tt    hset hincrby pexpire unlink
    mt    hset unlink
    fl    zadd zrem unlink
    dl    zadd zrem unlink
    du    zadd zrem unlink
    dg    sadd srem unlink
    ua    hset hdel unlink
    ht    hset hdel unlink
    dead  zadd zrem unlink
    at    hset hincrby hdel unlink
    cr    hset hsetnx hincrby hdel unlink
    er    hset hdel unlink
    pr    hset hdel unlink
    cn    hdel unlink
    cx    hset hdel unlink
    dn    sadd unlink persist
    r     set
    g     hset hincrby hdel pexpire unlink
    mg    hset hdel unlink
    mv    unlink
    mn    unlink
    c     hset hincrby hdel unlink
    o     hset hincrby unlink
    dr    hset hdel unlink
    rec   rpush lpop unlink
    wk    rpush blpop unlink
    pl    hsetnx unlink
    h     rpush lpop unlink
    u     hdel unlink
    uk    hset hdel unlink
    ex    hdel unlink
    li    hset hdel persist pexpire unlink
    lc    hset hdel pexpire unlink
    lt    zadd zrem pexpire unlink
    lw    zadd zrem pexpire unlink
    ls    zadd zrem unlink
    lp    hset hdel persist pexpire unlink
    lm    hset hdel unlink
    ll    sadd srem unlink
    gt    hset hincrby hdel unlink
    ga    hset hincrby hdel unlink
    gk    hset hdel unlink
    gq    rpush lpush lpop linsert unlink
    gr    rpush lpop unlink
    gg    sadd srem unlink
    fo    xadd xdel unlink
    b     hset hincrby unlink
    bb    setbit unlink
    bf    hset hdel unlink
    br    hset unlink
    bd    zadd zrem unlink
    route hsetnx
""")
# Coordinators hold groups and partitions for operators, and add the jobs of schedules: never a
# delayed one, nor one that replaces another. They cannot delete what a lane or a group has, not
# even a foreign value.
COORDINATOR = _grant("""
    cmd       xadd
    ck        hset
    wk        rpush
    j         hsetnx
    q         rpush
    u         hset
    uk        hset
    ex        hset
    lm        hset
    ll        sadd
    gt        hset hincrby
    gq        rpush
    gr        rpush lrem
    gg        sadd
    sf        set
    pl        hsetnx
    g         hset hincrby hdel persist pexpire
    mg        hset hdel
    mn        sadd unlink
    mr        hset unlink
    c         hset hincrby hdel
    ring      rpush
    tr        rpush
    tn        hset hincrby hdel
    mt        hset hdel
    ht        hset
    leader    hset
    decisions xadd
    why       xadd
    manual    hset hdel
    policy    hset
    schedules hset hdel
    fired     hset hdel
    log       xadd
    route     hsetnx
    li        hset hdel persist pexpire
    ls        zadd zrem
""")
# Also for coordinators that are to cancel batches for operators: `queuepool acl
# --coordinator-cancels`. They still delete no foreign value on the way.
CANCELLING = _grant("""
    b     hset
    bd    zadd
    j     hdel
    dl    zrem
    du    zrem
    dg    srem unlink
    ua    hdel
    at    hdel
    cr    hdel
    er    hdel
    cn    hset hdel
    cx    hset
    dn    sadd unlink persist
    ex    hdel
    lm    hdel
    ga    hset hincrby hdel
    u     hdel
    uk    hdel
    tt    hset hincrby pexpire
    fo    xadd
""")
CANCELLING_COORDINATOR = _union(COORDINATOR, CANCELLING)
# Also for coordinators that are to replay, discard, edit and run jobs for operators: `queuepool acl
# --coordinator-changes`.
CHANGING = _grant("""
    j     hset
    dead  zrem
    dl    zadd
    du    zadd
""")
CHANGING_COORDINATOR = _union(CANCELLING_COORDINATOR, CHANGING)
NOTHING: Grant = {}
# Besides the above: a replay rewrites the body, with another stamp; a migration the route; a move
# takes single jobs out of their lanes.
_BESIDE = _grant("""
    j     hset
    cmd   unlink
    ck    unlink
    q     lrem
    gq    lrem
    mv    sadd srem
    b     hdel
    bb    setrange
    route hset
""")
OPERATOR = _union(PRODUCER, CONSUMER, COORDINATOR, _BESIDE)
