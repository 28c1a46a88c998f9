// BullMQ on Node. Obeys the commands of the package and writes the records of harness.py.
// Variant: watchful (dead workers are noticed soon).
const { appendFileSync, openSync } = require("node:fs");
const { join } = require("node:path");
const { setTimeout: pause } = require("node:timers/promises");
const { Queue, Worker } = require("bullmq");

const { PEERS_URL = "redis://127.0.0.1:6379/0", PEERS_RECORDS = ".", PEERS_VARIANT } = process.env;
const { hostname: host, port } = new URL(PEERS_URL);
const connection = { host, port: Number(port), maxRetriesPerRequest: null };
const CHUNK = 1000;
const JOBS_OF_A_TENANT = 100;
const ENDED = 1;
const STARTED = 2;
const watchful = PEERS_VARIANT === "watchful" ? { lockDuration: 10_000, stalledInterval: 5_000 } : {};
const clock = () => process.hrtime.bigint();

function payloadOf(order, id) {
  return {
    id,
    at: String(clock()), // beyond what a number of JavaScript holds exactly
    ms: order.sleep_ms ?? 0,
    tenant: order.tenant || `t${Math.floor(id / JOBS_OF_A_TENANT)}`,
    rival: Number(order.is_rival ?? false),
    note: Number(order.note_starts ?? false),
    filler: ".".repeat(46),
  };
}

async function produce(order) {
  const queue = new Queue("peer", { connection });
  await queue.waitUntilReady();
  const first = order.first ?? 0;
  const began = clock();
  const sinceMs = () => Number(clock() - began) / 1e6;
  if (order.bulk ?? true) {
    for (let n = 0; n < order.jobs; n += CHUNK) {
      const size = Math.min(CHUNK, order.jobs - n);
      const rows = Array.from({ length: size }, (_, i) => payloadOf(order, first + n + i));
      await queue.addBulk(rows.map((data) => ({ name: "job", data })));
    }
  } else {
    for (let n = 0; n < order.jobs; n += 1) {
      if (order.gap_ms) await pause(Math.max(0, n * order.gap_ms - sinceMs()));
      await queue.add("job", payloadOf(order, first + n));
    }
  }
  const seconds = sinceMs() / 1000;
  await queue.close();
  console.log(JSON.stringify({ jobs: order.jobs, seconds }));
}

function work(concurrency) {
  const book = openSync(join(PEERS_RECORDS, `${process.pid}-${clock()}.records`), "a");
  const record = (data, began, ended, mark) => {
    const bytes = Buffer.alloc(32);
    bytes.writeBigUInt64LE(BigInt(data.at), 0);
    bytes.writeBigUInt64LE(began, 8);
    bytes.writeBigUInt64LE(ended, 16);
    bytes.writeUInt32LE(data.id, 24);
    bytes.writeUInt16LE(data.rival, 28);
    bytes.writeUInt16LE(mark, 30);
    appendFileSync(book, bytes);
  };
  const run = async ({ data }) => {
    const began = clock();
    if (data.note) record(data, began, 0n, STARTED);
    if (data.ms) await pause(data.ms);
    record(data, began, clock(), ENDED);
  };
  new Worker("peer", run, { connection, concurrency, ...watchful });
}

function about() {
  const versions = Object.fromEntries(
    ["bullmq", "ioredis"].map((name) => [name, require(`${name}/package.json`).version]),
  );
  versions.node = process.version.slice(1);
  const times = watchful.lockDuration
    ? "lockDuration 10 s, stalledInterval 5 s"
    : "else defaults (lockDuration 30 s, stalledInterval 30 s, finished jobs kept)";
  console.log(JSON.stringify({ versions, settings: `Worker concurrency N, ${times}; bulk: addBulk` }));
}

const [command, argument] = process.argv.slice(2);
if (command === "produce") produce(JSON.parse(argument));
else if (command === "work") work(Number(argument));
else about();
