package audit

import (
	"slices"

	"github.com/keywright/keywright/keyspace/finding"
)

var rules = []finding.Rule{
	{Code: "KW501", Name: "undeclared-owned-key", Severity: finding.Error,
		Summary: "A key under owns that no entry declares",
		Explain: "The declaration says that everything under this glob is ours, so a key that no pattern matches is a " +
			"typo, a leftover of an older version, or something that is not declared yet. `poppo:isue:1` beside " +
			"`poppo:issue:{number}` is found here. The report groups such keys into patterns that would declare them.",
		Fix: "declare it, rename it (was: keeps the old name known), or delete it"},
	{Code: "KW502", Name: "undeclared-key", Severity: finding.Warning,
		Summary: "A key that neither an entry nor owns nor foreign knows",
		Explain: "On a shared server these are other teams' keys or lost ones. Keys of other software belong under " +
			"`foreign`, where they are counted and not judged.",
		Fix: "declare it, or put its glob under foreign"},
	{Code: "KW503", Name: "legacy-key", Severity: finding.Warning,
		Summary: "A key that still has an old name of its entry",
		Explain: "`was` names the pattern an entry had before. Keys under it are known, but are not the ones the " +
			"code reads now.",
		Fix: "rename or delete them, then remove was"},
	{Code: "KW504", Name: "wrong-type", Severity: finding.Error, Summary: "A key of another Redis type than declared",
		Explain: "Commands for the declared type fail on it with WRONGTYPE. Usually two services use one name for two " +
			"things. Source: https://redis.io/docs/latest/commands/type/.",
		Fix: "find who writes it; one of the two uses needs another name"},
	{Code: "KW505", Name: "live-key-without-ttl", Severity: finding.Error,
		Summary: "A key that should expire and never will",
		Explain: "SET without EX on an existing key removes its TTL, and HSET, LPUSH and ZADD on a new key give it none. " +
			"Such keys stay for ever. Source: https://redis.io/docs/latest/commands/expire/.",
		Fix: "set the TTL where the key is written, in the same command or script; give the living ones a TTL or " +
			"delete them"},
	{Code: "KW506", Name: "ttl-too-long", Severity: finding.Error,
		Summary: "A key that lives longer than its declaration allows",
		Explain: "The remaining TTL is above the upper bound, jitter included: seconds and milliseconds were mixed up, or " +
			"a writer does not know the policy. The remaining TTL only ever shrinks, so one that is above the bound was " +
			"written wrong.",
		Fix: "correct the writer, or the bound in the declaration"},
	{Code: "KW507", Name: "unexpected-ttl", Severity: finding.Error, Summary: "A key that must never expire and will",
		Explain: "The declaration says `ttl: none`: the key holds something whose silent loss is a fault. RENAME and " +
			"RESTORE carry a TTL along, and a lock helper used on the wrong key sets one.",
		Fix: "PERSIST it and correct the writer, or declare a TTL"},
	{Code: "KW508", Name: "bad-value", Severity: finding.Error, Summary: "A value that is not of its declared type",
		Explain: "Found with --values, on the value or on a field. The message names the field and the type, never the " +
			"value. Of a large value a sample is looked at: 40 random members or fields, 20 elements from each end of a list, " +
			"10 entries from each end of a stream; a string of more than 1 MiB is not judged. The report says how many " +
			"elements of how many were looked at; --values=all looks at all of them.",
		Fix: "correct the writer, or the type in the declaration"},
	{Code: "KW509", Name: "undeclared-field", Severity: finding.Warning, Summary: "A field that is not declared",
		Explain: "Found with --values. The declaration does not have this field, and generated code drops it " +
			"on the next full write.",
		Fix: "declare the field, or stop writing it"},
	{Code: "KW510", Name: "missing-field", Severity: finding.Error,
		Summary: "A field that is declared and not optional, but absent",
		Explain: "Found with --values. A reader gets an empty string or nil where it expects a value.",
		Fix:     "write the field, or declare it optional"},
	{Code: "KW511", Name: "bad-member", Severity: finding.Error, Summary: "A member that is not of its declared type",
		Explain: "Found with --values, in lists, sets and sorted sets: an element of another kind, often the id " +
			"of something else.",
		Fix: "correct the writer, or the type in the declaration"},
	{Code: "KW512", Name: "bad-score", Severity: finding.Error, Summary: "A score that is not of its declared type",
		Explain: "Found with --values. Scores are doubles: a Unix time in milliseconds where seconds are declared sorts " +
			"all others to the end. Source: https://redis.io/docs/latest/commands/zadd/.",
		Fix: "correct the writer, or the type in the declaration"},
	{Code: "KW513", Name: "too-few-keys", Severity: finding.Warning, Summary: "A keyspace with fewer keys than expected",
		Explain: "An audit of nothing finds nothing wrong. A server without keys is usually another server, another " +
			"database, or one that was flushed. --min-keys says how many there must be; --min-keys 0 says that an empty " +
			"one is right.",
		Fix: "check the URL and its database; --min-keys says how many keys there must be"},
	{Code: "KW514", Name: "stream-too-long", Severity: finding.Error, Summary: "A stream that is longer than its maxlen",
		Explain: "A stream is trimmed when something is added to it, about to its maxlen: whole nodes go, so that some " +
			"hundred entries more are nothing (a tenth of maxlen, and at least 200). A longer one is written by a program " +
			"that does not trim, and grows until the memory is full. Source: https://redis.io/docs/latest/commands/xadd/.",
		Fix: "write it with MAXLEN ~, as generated code does; XTRIM what is too much"},
	{Code: "KW515", Name: "name-by-mistake", Severity: finding.Warning,
		Summary: "An undeclared key whose name a program put together by mistake",
		Explain: "A segment is what a language prints for nothing (`user:null`, `user:undefined`, `user:[object Object]`), " +
			"the place of a value in a format that was not filled in (`user:%s`, `user:${id}`, `user:{user_id}`), or empty " +
			"(`user:7:`; `books::7` is how caches are named). All programs that make the mistake share such a key. It is " +
			"counted among the undeclared keys, too.",
		Fix: "mend the program that writes it, then delete the key"},
	{Code: nearName, Name: "near-name", Severity: finding.Warning,
		Summary: "Undeclared keys whose names are near a declared one",
		Explain: "A word is misspelt (`user:profle:7` beside `user:profile:{id}`), a segment is too many or missing, or a " +
			"value has another form than its placeholder takes. What such a program writes is not read by the others, and " +
			"has none of the declared TTL. The keys are counted among the undeclared keys, too; it is known of groups of " +
			"keys, not of each key.",
		Fix: "correct the writer and rename the keys, or declare them if the name is meant"},
}

// nearName is the code of names that are near a declared one.
const nearName = "KW516"

// codes lists the codes of the judgements.
var codes = [violations]string{"KW502", "KW501", "KW503", "KW504", "KW505", "KW506", "KW507", "KW514",
	"KW515"}

// OfKeys reports whether the keys of findings of a code are reported one by one: KW513 has none, and KW516 is of
// groups.
func OfKeys(code string) bool {
	return code != "KW513" && code != nearName && slices.ContainsFunc(rules, func(r finding.Rule) bool { return r.Code == code })
}

// NeedsValues reports whether findings of a code are made with Options.Values only.
func NeedsValues(code string) bool { return "KW508" <= code && code <= "KW512" }

func severityOf(code string) finding.Severity {
	for _, r := range rules {
		if r.Code == code {
			return r.Severity
		}
	}
	return finding.Error
}
