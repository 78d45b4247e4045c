package load

import "github.com/keywright/keywright/keyspace/finding"

// Rules returns the findings that File can make: the declaration cannot be read or
// does not hold together. Whether it is wise is the linter's business.
func Rules() []finding.Rule { return rules }

const (
	errorLevel = finding.Error
	yamlSpec   = " Source: YAML 1.2.2, https://yaml.org/spec/1.2.2/."
)

var rules = []finding.Rule{
	{Code: "KW001", Name: "unreadable-file", Severity: errorLevel, Summary: "A file of the declaration cannot be read",
		Explain: "The file does not exist, is no regular file (a pipe, a device), is larger than 1 MiB, or holds bytes " +
			"that are not UTF-8 text. A limit keeps a hostile file from taking the machine down; a declaration that outgrows " +
			"it is divided with `imports`.",
		Fix: "check the path, or divide the file"},
	{Code: "KW002", Name: "yaml-syntax", Severity: errorLevel, Summary: "The file is not YAML",
		Explain: "The YAML parser stopped here; nothing after this place was read. The usual causes are a tab in the " +
			"indentation, a missing quote, and a value that begins with `{` or `*`." + yamlSpec,
		Fix: "correct the line; quote values that begin with { or *"},
	{Code: "KW003", Name: "unknown-property", Severity: errorLevel, Summary: "A property that does not exist",
		Explain: "A misspelt property would silently do nothing, so `tll: 30s` would declare a key without a TTL. Every " +
			"property a file, an entry or a rule may have is listed in docs/language.md.",
		Fix: "correct the name"},
	{Code: "KW004", Name: "duplicate-name", Severity: errorLevel, Summary: "A name is declared twice",
		Explain: "YAML parsers disagree on which of two equal keys wins, and two entries of one name cannot both become " +
			"the same function in generated code. A placeholder name has one meaning in all files together.",
		Fix: "rename or remove one of them"},
	{Code: "KW005", Name: "wrong-kind", Severity: errorLevel,
		Summary: "A mapping, a list or text is where another is expected",
		Explain: "For example `owns: {a: b}` where a list of globs is meant, or an entry that is text instead of a mapping " +
			"with key, type and ttl.",
		Fix: "write it in the form the reference shows"},
	{Code: "KW006", Name: "missing-property", Severity: errorLevel, Summary: "A property that must be there is not",
		Explain: "An entry has a key and a type; a script has a file; a channel has a channel; a file begins with `keywright: 1`, so that a later version of the language can still read it.",
		Fix:     "add the property"},
	{Code: "KW007", Name: "unsupported-yaml", Severity: errorLevel,
		Summary: "Anchors, aliases, tags, merge keys or a second document",
		Explain: "A declaration is read by people and by search; the text that an alias repeats is found by neither. Aliases are " +
			"also the way a small file becomes a huge one (the billion laughs). A second document after `---` is ignored by " +
			"most parsers without a word." + yamlSpec,
		Fix: "write the value out"},
	{Code: "KW008", Name: "import-fault", Severity: errorLevel,
		Summary: "An import leads in a circle or outside, or a limit is passed",
		Explain: "Imports are relative to the file that names them and stay below the folder of the first file. " +
			"A declaration has at most 100 files, 10,000 entries and 20,000 patterns: those that are written, and those " +
			"that constructs and old names add (a queue has 11). A mapping has at most 1,000 fields. So every command ends in " +
			"seconds, whatever it is given.",
		Fix: "remove the import, or move the file; divide what is too large into declarations of their own"},
	{Code: "KW009", Name: "flow-style-pattern", Severity: errorLevel, Summary: "A pattern inside [ ] or { } needs quotes",
		Explain: "`[x:{id}]` is refused by Go's YAML parser and silently read as a nested mapping by the ones of editors " +
			"and of Python. `[\"x:{id}\"]` means the same to all of them." + yamlSpec,
		Fix: "put the pattern in quotes"},
	{Code: "KW010", Name: "bad-name", Severity: errorLevel, Summary: "A name that cannot become an identifier",
		Explain: "Names of entries, channels and events are lower-case with underscores: they become functions in Go, " +
			"TypeScript and Python, anchors in documents and labels in metrics. Vars may also have capitals, since patterns " +
			"on existing pages do (`{couponId}`).",
		Fix: "rename it"},
	{Code: "KW011", Name: "unknown-version", Severity: errorLevel,
		Summary: "The file is in a version of the language this program does not know",
		Explain: "The number after `keywright:` grows when a file could be misread by an older program.",
		Fix:     "write keywright: 1, or use a newer keywright"},
	{Code: "KW101", Name: "bad-pattern", Severity: errorLevel, Summary: "A pattern cannot be read",
		Explain: "A pattern is literal text and placeholders: `cache:product:{id}`. `{#…}` is a cluster hash tag that " +
			"stays in the key, `\\{` and `\\}` are literal braces, `\\xff` is a byte. A placeholder has a name, is in a " +
			"pattern once, and is not optional: a shorter form of the key is an entry of its own.",
		Fix: "correct the pattern"},
	{Code: "KW102", Name: "ambiguous-pattern", Severity: errorLevel,
		Summary: "A key of the pattern can be read in two ways",
		Explain: "In `{a}-{b}` with text on both sides, `x-y-z` is a=x, b=y-z and also a=x-y, b=z. A parser for such keys " +
			"is wrong half of the time. The finding shows the shortest key of this kind; give one of the placeholders a type " +
			"that cannot hold what is between them.",
		Fix: "give a placeholder a narrower type in vars, such as slug, int or /[^-:]+/"},
	{Code: "KW103", Name: "bad-type", Severity: errorLevel, Summary: "A type that does not exist or cannot be read",
		Explain: "Scalar types: text [max N] [rest], int [a..b], float, bool, bytes, uuid, ulid, hex [N], slug, date " +
			"[LAYOUT], timestamp, unix_s, unix_ms, a|b|c, /re2/, json [FILE], each with optional or encrypted after it, or " +
			"the name of a var.",
		Fix: "correct the type"},
	{Code: "KW104", Name: "bad-glob", Severity: errorLevel, Summary: "A glob that cannot be used",
		Explain: "owns, foreign and cleanup hold Redis globs: `*`, `?`, `[abc]` and backslash escapes, as MATCH of SCAN " +
			"reads them. They have no placeholders. Source: https://redis.io/docs/latest/commands/keys/.",
		Fix: "write * for what varies"},
	{Code: "KW105", Name: "underivable-key", Severity: errorLevel,
		Summary: "A helper key of a construct cannot be derived",
		Explain: "Helper keys must lie in the cluster slot of the main key, so a derived one wraps the main key into " +
			"a hash tag. That fails for a main key with a literal brace or near the limits of a pattern.",
		Fix: "name the helper key"},
	{Code: "KW106", Name: "bad-shape", Severity: errorLevel, Summary: "The shape cannot be read",
		Explain: "A shape is segments divided by colons, each a literal or one {name}, the last ones optional in brackets: " +
			"`{purpose}:{domain}:{resource}[:{id}]`.",
		Fix: "correct the shape"},
	{Code: "KW107", Name: "outside-namespace", Severity: errorLevel,
		Summary: "A pattern, channel or glob is outside of the namespace",
		Explain: "With `namespace: poppo` a program chooses another name when it starts, `poppo-test`, and all its keys " +
			"and channels begin with that. What does not begin with the namespace and a separator would be shared by both. " +
			"Globs of `foreign` and old patterns under `was` may be outside.",
		Fix: "begin it with the namespace and :"},
	{Code: "KW201", Name: "bad-ttl", Severity: errorLevel, Summary: "A ttl that cannot be read",
		Explain: "`30s` with the units ms, s, m, h, d, w; `15m in 1m..24h` for a default and bounds; `10m ~10%` for " +
			"jitter; `30m sliding` for one renewed on use; `none` for a key that must never expire; `any` for one left " +
			"undecided; or a name from ttls. A number without a unit is refused: Redis itself has commands in seconds and in " +
			"milliseconds.",
		Fix: "write a duration with a unit"},
	{Code: "KW202", Name: "missing-ttl", Severity: errorLevel, Summary: "An entry without a ttl",
		Explain: "Keys without a TTL are how a cache becomes a leak: a person must have decided. `none` is a decision, and " +
			"`any` says openly that there is none yet.",
		Fix: "add ttl: a duration, none or any"},
	{Code: "KW301", Name: "unknown-reference", Severity: errorLevel, Summary: "A name that is not declared anywhere",
		Explain: "Events name the entries they delete, entities the channels they emit on, scripts the entries whose keys " +
			"they get. A name without a declaration means an invalidation that never happens.",
		Fix: "correct the name, or declare it"},
	{Code: "KW302", Name: "foreign-property", Severity: errorLevel, Summary: "A property that belongs to another type",
		Explain: "For example `score` on a set, or `lease` on a list. The property exists, but has no meaning for this type.",
		Fix:     "remove it, or change the type"},
	{Code: "KW303", Name: "bad-queue-order", Severity: errorLevel,
		Summary: "A queue's order is no enum placeholder of its key",
		Explain: "`order: priority` says that the values of {priority}, in the order the enum lists them, are the lanes " +
			"in the order they are drained. So the key has that placeholder and its type is a|b|c.",
		Fix: "declare the placeholder as an enum: priority: high|normal|low"},
	{Code: "KW304", Name: "bad-index", Severity: errorLevel, Summary: "An index that cannot be kept",
		Explain: "`field: pattern` with {field} in the pattern is a zset of ids per value; without it a zset scored by the " +
			"field, which must then be a number or a Unix time. `a+b` is a zset per value of a, scored by b. `expires` is " +
			"built in. A score is an IEEE 754 double: integers beyond 2^53 lose digits. Source: " +
			"https://redis.io/docs/latest/commands/zadd/.",
		Fix: "correct the field or the pattern"},
	{Code: "KW307", Name: "bad-number", Severity: errorLevel, Summary: "A number, duration or rate that cannot be read",
		Explain: "lease, timeout, idle and older are durations like 30s; retry and maxlen whole numbers; rate is `100 per 1m`, with " +
			"`burst 20` after it where bursts are allowed.",
		Fix: "correct the value"},
	{Code: "KW308", Name: "missing-file", Severity: errorLevel, Summary: "A schema or script file that does not exist",
		Explain: "`json FILE` and `file:` name files relative to the declaration. Without them values cannot be checked " +
			"and scripts cannot be generated.",
		Fix: "create the file, or correct the path"},
	{Code: "KW309", Name: "bad-pressure", Severity: errorLevel, Summary: "A pressure rule that cannot be followed",
		Explain: "`{at: 80%, entry: item, where: {priority: 1}, shorten: to 5m}`: from 80 % of maxmemory on, the items " +
			"whose priority is 1 live for at most five minutes more. An index of the entity with a zset " +
			"per value, like `priority+created_at`, says which of them come first. `release: to 85%` deletes them until the server is at " +
			"85 %, so that is below `at`.",
		Fix: "name an entity with such an index, and values of its field"},
	{Code: "KW310", Name: "bad-route", Severity: errorLevel,
		Summary: "A path, a file name or a term of a migration cannot be read",
		Explain: "A path is like a JSON Pointer: `history:/{guild_id}/stories/[]` begins with the name of a source; " +
			"`{name}` captures the name of every member, `[]` is every element of an array, `{#place}` captures its place; " +
			"`~0 ~1 ~2 ~3` are literal `~ / { [`. A name is captured once. A term is `.` (the record), `.article.title` (a " +
			"member of it), `{name}` (a capture) or a conversion of one, as in `iso8601(.posted_at)`. docs/migration.md lists " +
			"the conversions.",
		Fix: "correct it"},
	{Code: "KW311", Name: "move-does-not-fit", Severity: errorLevel,
		Summary: "A move does not fit the entry that it goes to",
		Explain: "What a move says depends on the type of the entry: a string has a value, a hash a field and a value, a " +
			"sorted set a member and a score, an entity fields. A lock or a script holds nothing that a file could have. A " +
			"list, stream or queue has an order, so its records come from an array. What a conversion gives must be of the " +
			"declared type.",
		Fix: "say what the type needs, or move to another entry"},
	{Code: "KW312", Name: "unbound-placeholder", Severity: errorLevel,
		Summary: "A placeholder that nothing binds, or a capture that is not there",
		Explain: "The key of each record is built from captures and members: `{guild_id}` of the key is the capture " +
			"of that name, or what `with` says. Without one of them no key can be built.",
		Fix: "capture it in from, or say it in with"},
	{Code: "KW313", Name: "move-ttl", Severity: errorLevel, Summary: "The ttl of a move cannot be counted",
		Explain: "`ttl: {from: iso8601(.posted_at)}` counts the declared ttl from a time in the record, `{until: …}` is " +
			"that time. JSON has no times, so the term says how it is written. A field of a hash or a member of a set ends " +
			"with its key and has no ttl of its own, and what has `ttl: none` never ends.",
		Fix: "name a time with iso8601(…), unix_s(…) or unix_ms(…), or remove the ttl"},
	{Code: "KW314", Name: "bad-job", Severity: errorLevel, Summary: "A job of the janitor that cannot be done",
		Explain: "`{do: backup, cron: \"0 2 * * *\", zone: Europe/Berlin, keep: 7}`: a job has an interval (`every`, at " +
			"least a minute) or five fields as cron has them: minute, hour, day of the month, month, day of the week. A zone " +
			"has a name of the time zone database. A sweep names an entity, a backup says how many are kept.",
		Fix: "correct the job"},
}
