// The page of main.ts as it was before its keys were declared, with two faults: see
// docs/how-to/ioredis.md.
//
//	npm ci && npm run build && node build/before.js redis://localhost:6379

import { Redis } from "ioredis";

//doc:begin page
/** A product's page: from the cache, or made and kept. */
async function page(redis: Redis, productId: number): Promise<string> {
  const cached = await redis.get(`cache:product:detail:${productId}`);
  if (cached !== null) return `from the cache: ${cached}`;
  const made = JSON.stringify({ id: productId, name: "shirt" });
  await redis.set(`cache:porduct:detail:${productId}`, made);
  return `made: ${made}`;
}
//doc:end

const redis = new Redis(process.argv[2] ?? "redis://localhost:6379");
try {
  console.log(await page(redis, 42));
  console.log(await page(redis, 42));
} finally {
  redis.disconnect();
}
