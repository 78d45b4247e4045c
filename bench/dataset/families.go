package dataset

import "github.com/keywright/keywright/bench/keygen"

const (
	hour int64 = 3_600_000 // milliseconds
	day        = 24 * hour
)

// lifetimeRule describes what an entry's `ttl` allows: a longest remaining life,
// none, or both (any).
type lifetimeRule struct {
	longest int64 // milliseconds; 0: must not expire
	any     bool
}

var (
	never   = lifetimeRule{}
	anyTTL  = lifetimeRule{any: true}
	expires = func(longest int64) lifetimeRule { return lifetimeRule{longest: longest} }
)

// family represents one entry of keyspace.yaml and how its keys are made.
type family struct {
	name     string
	weight   int64 // share among declared keys; all weights sum to totalWeight
	template *keygen.Template
	ttl      lifetimeRule
	kind     string // as TYPE reports it
	fill     filler
}

var families = []family{
	row("session", 90, "sess:{sid}", expires(30*day), "string", rawText),
	row("product_detail", 80, "cache:product:detail:{productId}", expires(7*day+7*day/10), "string", productJSON),
	row("user_profile", 60, "cache:user:profile:{userId}", expires(30*day), "string", profileJSON),
	row("page", 25, "cache:page:{lang}:{name}", expires(3*day), "string", longText),
	row("user_by_email", 90, "user:by:email:{email}", never, "string", number),
	row("user_by_handle", 30, "user:by:handle:{handle}", anyTTL, "string", number),
	row("product_views", 70, "stat:view:{productId}:{day}", expires(35*day), "string", number),
	row("rate_window", 30, "rate:{ip}:{window}", expires(2*day), "string", number),
	row("flag", 50, "flag:{flag}:{userId}", never, "string", onOff),
	row("one_time_code", 30, "auth:otp:{ref}", expires(2*day), "string", sixDigits),
	row("issue_lock", 20, "issue_lock_{issueId}", expires(2*day), "string", token),
	row("visitors", 10, "uv:{day}:{name}", expires(90*day), "string", hyperLogLog),
	row("thumbnail", 20, "thumb:{ref}:{size}", expires(14*day), "string", binary),
	row("user", 120, "user:{ref}", never, "hash", userHash),
	row("cart", 60, "cart:{ref}", expires(14*day), "hash", profile),
	row("order_summary", 40, "order:{orderId}:summary", expires(90*day), "hash", profile),
	row("job", 30, "queue:job:{job}", expires(7*day), "hash", profile),
	row("coupon_stock", 10, "coupon:{#{couponId}}:stock", never, "string", number),
	row("queue", 10, "queue:{name}", never, "list", shortList),
	row("inbox", 20, "inbox:{userId}:unread", expires(30*day), "list", longList),
	row("tag_products", 25, "tag:{name}:products", never, "set", intSet),
	row("friends", 12, "user:{ref}:friends", never, "set", textSet),
	row("campaign_seen", 6, "seen:{name}:{day}", expires(40*day), "set", textSet),
	row("category_ranking", 18, "ranking:category:{category}:{day}", expires(14*day), "zset", shortRanking),
	row("sales_ranking", 2, "ranking:sales:{name}:{day}", expires(30*day), "zset", longRanking),
	row("timeline", 25, "timeline:{userId}", never, "zset", shortRanking),
	row("stores", 5, "geo:store:{name}", never, "zset", geo),
	row("events", 12, "events:{name}:{shard}", never, "stream", stream),
}

func row(name string, weight int64, pattern string, ttl lifetimeRule, kind string, fill filler) family {
	return family{name, weight, keygen.MustParse(pattern, makers), ttl, kind, fill}
}

// makers has a maker for every placeholder. At least one placeholder of each
// pattern is distinct, so no key is made twice.
var makers = map[string]keygen.Maker{
	"sid":       keygen.Hex32,
	"productId": keygen.ID,
	"userId":    keygen.ID,
	"orderId":   keygen.ID,
	"couponId":  keygen.ID,
	"issueId":   keygen.ID,
	"category":  keygen.ID,
	"lang":      keygen.OneOf("ja", "en", "ko"),
	"size":      keygen.OneOf("s", "m", "l"),
	"flag":      keygen.OneOf("beta", "dark_mode", "new_checkout"),
	"shard":     keygen.OneOf("0", "1", "2", "3"),
	"name":      keygen.Slug,
	"handle":    keygen.Slug,
	"email":     keygen.Email,
	"ip":        keygen.IPv4,
	"day":       keygen.Day,
	"window":    keygen.UnixSeconds,
	"ref":       keygen.UUID,
	"job":       keygen.ULID,
	"bytes":     notUTF8,
}

// stray represents a kind of key that is not declared.
type stray struct {
	template *keygen.Template
	owned    bool // under an `owns` glob
}

var strays = []stray{
	{keygen.MustParse("cahce:product:detail:{productId}", makers), false}, // a typo
	{keygen.MustParse("cache:user:profile:{userId}:v2", makers), true},    // one segment too many
	{keygen.MustParse("cart:{productId}", makers), true},                  // a number where a UUID belongs
	{keygen.MustParse("stat:view:{productId}:2026-02-30", makers), true},  // no such day
	{keygen.MustParse("user_{userId}", makers), false},                    // the old scheme
	{keygen.MustParse("celery-task-meta-{ref}", makers), false},           // a framework
	{keygen.MustParse("spring:session:sessions:{ref}", makers), false},    // another one
	{keygen.MustParse("{bytes}{productId}", makers), false},               // not UTF-8
}

// foreignKey falls under the `foreign` glob of keyspace.yaml.
var foreignKey = keygen.MustParse("bull:mail:{productId}", makers)

func notUTF8(dst []byte, r *keygen.Rand, _ uint64) []byte {
	return append(dst, 0xff, 0xfe, byte(r.Uint64()), 0x00, '\r', '\n')
}

var totalWeight = func() (sum int64) {
	for _, f := range families {
		sum += f.weight
	}
	return sum
}()

// pick answers the family that a number below totalWeight falls on.
func pick(roll int64) int {
	i := 0
	for ; roll >= families[i].weight; i++ {
		roll -= families[i].weight
	}
	return i
}

// fault decides which violation, if any, a key is planted with.
func (f *family) fault(r *keygen.Rand) Violation {
	roll := r.Below(1000)
	switch {
	case roll < 7:
		return WrongType
	case f.ttl.any:
		return ""
	case f.ttl == never:
		if roll < 14 {
			return UnexpectedTTL
		}
	case roll < 20:
		return MissingTTL
	case roll < 26:
		return TTLTooLong
	}
	return ""
}

// lifetime returns the TTL of a key in milliseconds, 0 for none. One that is too
// long is far too long, so that no tolerance hides it.
func (f *family) lifetime(r *keygen.Rand, fault Violation) int64 {
	switch {
	case fault == MissingTTL:
		return 0
	case fault == TTLTooLong:
		return r.Between(2*f.ttl.longest, 3*f.ttl.longest)
	case fault == UnexpectedTTL:
		return r.Between(day, 30*day)
	case f.ttl.any && r.Chance(500):
		return r.Between(day, 365*day)
	case f.ttl.longest > 0:
		return r.Between(day, f.ttl.longest)
	}
	return 0
}

// otherType fills a key with a type its family does not declare.
func (f *family) otherType() filler {
	if f.kind == "hash" {
		return rawText
	}
	return profile
}
