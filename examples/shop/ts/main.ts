// What a shop does with its keys, by ioredis: a cache that is filled on a miss,
// the options of a product, the sales of a day, and the ids of what is cached.
//
//	npm ci && npm run build && npm start redis://localhost:6379
//
// or redis+cluster://host:port, or redis+sentinel://host:port,…/name.
// Keys, values and TTLs are those of ../keyspace.yaml: shopkeys.ts is made by
// `keywright gen ts`.

import { Cluster, Redis } from "ioredis";
import { dailySales, KeyError, productDetail, productOption } from "./shopkeys.js";

/** A server, the primary that sentinels name, or a cluster. */
type Client = Redis | Cluster;

/** The client for a URL, and the servers that hold keys. */
function open(url: string): { redis: Client; servers: () => Redis[] } {
  const [, scheme = "", hosts = "", name = ""] = /^([a-z+]+):\/\/([^/]+)\/?(.*)$/.exec(url) ?? [];
  const addresses = hosts.split(",").map((text) => {
    const [host = "", port] = text.split(":");
    return { host, port: Number(port) };
  });
  if (scheme === "redis+cluster") {
    const cluster = new Cluster(addresses);
    return { redis: cluster, servers: () => cluster.nodes("master") };
  }
  if (scheme !== "redis+sentinel" && !URL.canParse(url)) { // ioredis shows the URL, which may have a password
    throw new Error("the URL cannot be read: write redis://host:port");
  }
  const redis = scheme === "redis+sentinel" ? new Redis({ sentinels: addresses, name }) : new Redis(url);
  return { redis, servers: () => [redis] };
}

//doc:begin page
/** A product's page: from the cache, or made and kept for as long as declared. */
async function page(redis: Client, productId: number): Promise<string> {
  const key = productDetail.key({ productId });
  const cached = await redis.get(key);
  if (cached !== null) return `from the cache: ${JSON.stringify(productDetail.value.decode(cached))}`;
  const made = productDetail.value.encode({ id: productId, name: "shirt" });
  await redis.set(key, made, ...productDetail.ttl.args());
  return `made: ${made}`;
}
//doc:end

/** Keeps the options of a product; in a cluster they are on several servers. */
async function keepOptions(redis: Client, productId: number, optionIds: readonly number[]): Promise<void> {
  await Promise.all(
    optionIds.map((optionId) => {
      const value = productOption.value.encode({ id: optionId });
      return redis.set(productOption.key({ productId, optionId }), value, ...productOption.ttl.args());
    }),
  );
}

/** Adds to a ranking and gives it its TTL with the first member, in one step. */
const count = `
  local n = redis.call('ZINCRBY', KEYS[1], ARGV[1], ARGV[2])
  if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
  return n`;

/** Counts units sold; the ranking of a day never stays without its TTL. */
async function sold(redis: Client, day: Date | string, productId: number, units: number): Promise<void> {
  await redis.eval(count, 1, dailySales.key({ day }), units, String(productId), dailySales.ttl.px());
}

/** The ids of the products in the cache, and keys there that are none of ours. */
async function cachedProducts(servers: readonly Redis[]): Promise<{ ids: (number | bigint)[]; strange: string[] }> {
  const ids: (number | bigint)[] = [];
  const strange: string[] = [];
  for (const server of servers) {
    for await (const keys of server.scanStream({ match: productDetail.scanPattern })) {
      for (const key of keys as string[]) {
        const values = productDetail.parse(key);
        if (values === undefined) strange.push(key);
        else ids.push(values.productId);
      }
    }
  }
  return { ids, strange };
}

async function main(url: string): Promise<void> {
  const { redis, servers } = open(url);
  try {
    console.log(await page(redis, 42));
    console.log(await page(redis, 42));
    await keepOptions(redis, 42, [1, 2, 3]);
    await sold(redis, new Date("2026-11-20T23:59:59Z"), 42, 3);
    await sold(redis, "2026-11-20", 42, 2);
    const { ids, strange } = await cachedProducts(servers());
    console.log(`cached: ${ids.join(", ")}; not ours: ${strange.join(", ")}`);
    productDetail.key({ productId: 0 });
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    console.log(error.message);
  } finally {
    redis.disconnect();
  }
}

await main(process.argv[2] ?? "redis://localhost:6379");
