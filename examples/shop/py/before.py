"""The page of main.py as it was before its keys were declared, with two faults: see
docs/how-to/redis-py.md.

    python3 before.py redis://localhost:6379
"""

import json
import sys

import redis


# doc:begin page
def page(r, product_id):
    """A product's page: from the cache, or made and kept."""
    cached = r.get(f"cache:product:detail:{product_id}")
    if cached is not None:
        return "from the cache: " + cached.decode()
    made = json.dumps({"id": product_id, "name": "shirt"})
    r.set(f"cache:porduct:detail:{product_id}", made)
    return "made: " + made
# doc:end


if __name__ == "__main__":
    client = redis.Redis.from_url(sys.argv[1] if len(sys.argv) > 1 else "redis://localhost:6379")
    print(page(client, 42))
    print(page(client, 42))
