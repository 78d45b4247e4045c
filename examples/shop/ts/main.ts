// What a shop does with its keys, by ioredis: a cache that is filled on a miss,
// the options of a product, the sales of a day, and the ids of what is cached.
//
//	npm ci && npm run build && npm start redis://localhost:6379
//
// Keys, values and TTLs are those of ../keyspace.yaml: shopkeys.ts is made by
// `keywright gen typescript`.

import { Redis } from "ioredis";
import { dailySales, KeyError, productDetail, type ProductDetailValue, productOption } from "./shopkeys.js";

/** A product's page: from the cache, or made and kept for as long as declared. */
async function page(redis: Redis, productId: number): Promise<string> {
  const key = productDetail.key({ productId });
  const cached: ProductDetailValue | null = await redis.get(key);
  if (cached !== null) return `from the cache: ${cached}`;
  const made: ProductDetailValue = JSON.stringify({ id: productId, name: "shirt" });
  await redis.set(key, made, ...productDetail.ttl.args());
  return `made: ${made}`;
}

/** Keeps the options of a product, in one round trip. */
async function keepOptions(redis: Redis, productId: number, optionIds: readonly number[]): Promise<void> {
  const pipeline = redis.pipeline();
  for (const optionId of optionIds) {
    pipeline.set(productOption.key({ productId, optionId }), JSON.stringify({ id: optionId }), ...productOption.ttl.args());
  }
  await pipeline.exec();
}

/** Counts units sold; the ranking of a day never stays without its TTL. */
async function sold(redis: Redis, day: string, productId: number, units: number): Promise<void> {
  const key = dailySales.key({ day });
  await redis.multi().zincrby(key, units, String(productId)).pexpire(key, dailySales.ttl.px()).exec();
}

/** The ids of the products in the cache, and keys there that are none of ours. */
async function cachedProducts(redis: Redis): Promise<{ ids: (number | bigint)[]; strange: string[] }> {
  const ids: (number | bigint)[] = [];
  const strange: string[] = [];
  for await (const keys of redis.scanStream({ match: productDetail.scanPattern })) {
    for (const key of keys as string[]) {
      const values = productDetail.parse(key);
      if (values === undefined) strange.push(key);
      else ids.push(values.productId);
    }
  }
  return { ids, strange };
}

async function main(url: string): Promise<void> {
  const redis = new Redis(url);
  try {
    console.log(await page(redis, 42));
    console.log(await page(redis, 42));
    await keepOptions(redis, 42, [1, 2, 3]);
    await sold(redis, "2026-11-20", 42, 3);
    await sold(redis, "2026-11-20", 42, 2);
    const { ids, strange } = await cachedProducts(redis);
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
