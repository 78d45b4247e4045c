"""What a shop does with its keys, by redis-py: a cache that is filled on a miss,
the options of a product, the sales of a day, and the ids of what is cached.

    python3 main.py redis://localhost:6379

or redis+cluster://host:port, or redis+sentinel://host:port,…/name.

Keys, values and TTLs are those of ../keyspace.yaml: shopkeys.py is made by
`keywright gen py`.
"""

import json
import sys

import redis
from redis.sentinel import Sentinel
from shopkeys import KeyValueError, daily_sales, product_detail, product_option


# Adds to a ranking and gives it its TTL with the first member, in one step.
COUNT = """
local n = redis.call('ZINCRBY', KEYS[1], ARGV[1], ARGV[2])
if redis.call('PTTL', KEYS[1]) < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return n
"""


def connect(url):
    """A server, the primary that sentinels name, or a cluster."""
    scheme, _, rest = url.partition("://")
    hosts, _, name = rest.partition("/")
    addresses = [(host, int(port)) for host, _, port in (h.partition(":") for h in hosts.split(","))]
    if scheme == "redis+cluster":
        return redis.RedisCluster(*addresses[0])
    if scheme == "redis+sentinel":
        return Sentinel(addresses).master_for(name)
    try:
        return redis.Redis.from_url(url)
    except ValueError:  # it shows the URL, which may have a password
        raise SystemExit("the URL cannot be read: write redis://host:port") from None


# doc:begin page
def page(r, product_id):
    """A product's page: from the cache, or made and kept for as long as declared."""
    key = product_detail.key(product_id=product_id)
    cached = r.get(key)
    if cached is not None:
        return "from the cache: " + json.dumps(product_detail.value.decode(cached), separators=(",", ":"))
    made = product_detail.value.encode({"id": product_id, "name": "shirt"})
    r.set(key, made, px=product_detail.ttl.px())
    return "made: " + made
# doc:end


def keep_options(r, product_id, option_ids):
    """Keeps the options of a product, in one round trip per server."""
    with r.pipeline() if isinstance(r, redis.RedisCluster) else r.pipeline(transaction=False) as pipeline:
        for option_id in option_ids:
            key = product_option.key(product_id=product_id, option_id=option_id)
            pipeline.set(key, product_option.value.encode({"id": option_id}), px=product_option.ttl.px())
        pipeline.execute()


def sold(r, day, product_id, units):
    """Counts units sold; the ranking of a day never stays without its TTL."""
    r.eval(COUNT, 1, daily_sales.key(day=day), units, str(product_id), daily_sales.ttl.px())


def cached_products(r):
    """The ids of the products in the cache, and keys there that are none of ours."""
    ids, strange = [], []
    for key in r.scan_iter(match=product_detail.scan_pattern):
        values = product_detail.parse(key)
        if values is None:
            strange.append(key.decode())
        else:
            ids.append(values["product_id"])
    return ids, strange


def main(url):
    r = connect(url)
    print(page(r, 42))
    print(page(r, 42))
    keep_options(r, 42, [1, 2, 3])
    sold(r, "2026-11-20", 42, 3)
    sold(r, "2026-11-20", 42, 2)
    ids, strange = cached_products(r)
    print(f"cached: {', '.join(map(str, ids))}; not ours: {', '.join(strange)}")
    try:
        product_detail.key(product_id=0)
    except KeyValueError as error:
        print(error)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "redis://localhost:6379")
