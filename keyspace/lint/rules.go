package lint

import "github.com/keywright/keywright/keyspace/finding"

const (
	errorLevel = finding.Error
	warning    = finding.Warning
	note       = finding.Note
)

// rules is the table. A code is never used for anything else again.
var rules = []rule{
	{finding.Rule{Code: "KW120", Name: "overlapping-patterns", Severity: errorLevel,
		Summary: "Two patterns match a common key",
		Explain: "Patterns are regular languages, so whether two of them have a key in common is decided exactly, and the " +
			"finding shows the shortest one. Where one pattern is contained in the other, the narrower one wins and all is " +
			"well. Here neither is: for the key shown it cannot be said which entry it belongs to, and two writers can " +
			"meet in it.",
		Fix: "change a literal part, or give a placeholder a narrower type"}, (*context).overlaps},
	{finding.Rule{Code: "KW121", Name: "identical-patterns", Severity: errorLevel,
		Summary: "Two entries match the same keys",
		Explain: "Two entries with one language are one entry with two types, TTLs and owners. The names of placeholders " +
			"make no difference: `a:{x}` and `a:{y}` are the same keys.",
		Fix: "remove one, or make the patterns differ"}, (*context).identical},
	{finding.Rule{Code: "KW123", Name: "unused-var", Severity: warning, Summary: "A var that nothing refers to",
		Explain: "A var gives a meaning to a placeholder, field or member. One that nothing uses is a leftover, or the " +
			"placeholder that should use it is misspelt and silently means text.",
		Fix: "remove it, or correct the placeholder"}, (*context).unusedVars},
	{finding.Rule{Code: "KW124", Name: "placeholder-near-var", Severity: warning,
		Summary: "An undeclared placeholder whose name is almost a var's",
		Explain: "A placeholder without a var means text. `{userid}` beside a var `user_id` is most likely a slip, and " +
			"then any text passes for an id.",
		Fix: "write the name of the var"}, (*context).nearVars},
	{finding.Rule{Code: "KW125", Name: "not-owned", Severity: warning, Summary: "A pattern is outside of owns",
		Explain: "`owns` says which part of the server is ours: an undeclared key there is an error, elsewhere a warning. " +
			"An entry outside of it is not protected against that. Derived keys are left out. `skip: [owns]` exempts an entry.",
		Fix: "add a glob to owns, or move the key"}, (*context).owned},
	{finding.Rule{Code: "KW126", Name: "shape-violation", Severity: warning,
		Summary: "A pattern does not have the shape the team has agreed on",
		Explain: "`shape` is the naming law: each segment of a pattern is held against its part, and where a part is a var " +
			"with an enum, the segment must be one of its values. Keys that a construct derives are left out. `skip: [shape]` " +
			"exempts an entry.",
		Fix: "change the pattern, the shape, or write skip: [shape]"}, (*context).shape},
	{finding.Rule{Code: "KW127", Name: "lookalike-patterns", Severity: warning,
		Summary: "Two patterns look alike and are different",
		Explain: "Keys are bytes: `User:{id}` and `user:{id}` are different keys to the server and the same word to a " +
			"reader. So are letters of two scripts that look alike (Cyrillic а, Greek ο, Latin a and o), one letter in two " +
			"forms (é as one character or as e and an accent), and texts with characters that cannot be seen.",
		Fix: "use one spelling"}, (*context).lookalikes},
	{finding.Rule{Code: "KW128", Name: "odd-literal", Severity: warning,
		Summary: "A pattern has something in it that is hard to see or to type",
		Explain: "A space, a control character, a character that cannot be seen, one that turns the direction of writing, " +
			"or a word of letters of two scripts: such a key is hard to type, breaks line-based tools like `redis-cli --scan " +
			"| xargs`, and cannot be named in an ACL rule, where it becomes a `?` " +
			"(https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/).",
		Fix: "use letters, digits, - and _"}, (*context).oddLiterals},
	{finding.Rule{Code: "KW129", Name: "foreign-overlap", Severity: warning,
		Summary: "A glob of foreign covers declared keys or owns",
		Explain: "Keys under `foreign` belong to other software. A declared pattern still wins over the glob, but a key " +
			"that misses its pattern by a letter is then counted as foreign and never found.",
		Fix: "narrow the glob"}, (*context).foreignOverlap},
	{finding.Rule{Code: "KW130", Name: "reserved-name", Severity: warning,
		Summary: "A name that is a keyword where code is generated",
		Explain: "Entries become functions and fields. A keyword of Go, TypeScript or Python would have to be changed " +
			"there, and `__proto__` or `constructor` as a field of a JavaScript object changes the object instead.",
		Fix: "choose another name"}, (*context).reserved},
	{finding.Rule{Code: "KW131", Name: "foreign-placeholder", Severity: warning,
		Summary: "A pattern has a placeholder of another notation in it",
		Explain: "`user:<id>`, `user:${id}`, `user:%s` and `user:*` are how other tools and languages write what is " +
			"`user:{id}` here. As they stand they are literal text: the pattern matches one key with exactly these characters.",
		Fix: "write {id}; a literal of this kind is rare enough to be ignored with a comment"},
		(*context).foreignPlaceholders},
	{finding.Rule{Code: "KW132", Name: "lane-is-helper", Severity: errorLevel,
		Summary: "A lane of a queue has the key of something else of the queue",
		Explain: "Beside its lanes a queue has keys of its own: `dead`, `leases`, `delayed`, `state`, `workers`, `runs`, " +
			"one per job, result and unique name. With `{#mail}:{priority}` a lane that is called dead is the key of the dead " +
			"jobs: two types meet in it. The runtime refuses such a queue.",
		Fix: "give the lane another name, or the other key one of its own (dead: ...)"}, (*context).lanes},
	{finding.Rule{Code: "KW133", Name: "retired-again", Severity: errorLevel,
		Summary: "What is retired is declared again",
		Explain: "`retired` names what is gone for good. Under the same name or key something may still be stored, a " +
			"program " +
			"may still have the old functions, and a backup brings both back: it would be taken for the new thing. So a name, " +
			"a " +
			"field and a word that are retired are not declared again, nor is a pattern that has a key in common with one that " +
			"" +
			"is. (Protobuf has `reserved` for the same reason: https://protobuf.dev/programming-guides/proto3/#fieldreserved.)",
		Fix: "choose another name, or another beginning of the key"}, (*context).retired},
	{finding.Rule{Code: "KW204", Name: "cache-never-expires", Severity: warning, Summary: "A cache that never expires",
		Explain: "An invalidation that is lost once leaves a stale value for ever, and values of things that no longer " +
			"exist are never freed. Even a TTL of a day bounds both.",
		Fix: "give it a TTL"}, (*context).cacheTTL},
	{finding.Rule{Code: "KW205", Name: "cache-slides", Severity: errorLevel,
		Summary: "A cache whose TTL is renewed by reading",
		Explain: "A value that is read often would never expire, and never be loaded again: it stays as old as it is. The " +
			"generated code refuses every call. What a program keeps alive by using it, such as a session, is a `string`.",
		Fix: "write the TTL without sliding, or type: string"}, (*context).cacheSlides},
	{finding.Rule{Code: "KW211", Name: "lock-never-expires", Severity: errorLevel, Summary: "A lock without an expiry",
		Explain: "If its holder dies, a lock without a TTL is held for ever. The holder renews the TTL while it works " +
			"(https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).",
		Fix: "give it the TTL after which a dead holder may be replaced"}, (*context).lockTTL},
	{finding.Rule{Code: "KW212", Name: "lock-too-long", Severity: warning,
		Summary: "A lock that outlives a dead holder by more than a day",
		Explain: "The TTL of a lock is how long everybody waits after its holder has died. Long work is done under a short " +
			"TTL that the holder renews.",
		Fix: "shorten it; the runtime renews a lock while it is held"}, (*context).lockLong},
	{finding.Rule{Code: "KW213", Name: "unused-ttl", Severity: warning, Summary: "A named ttl that no entry uses",
		Explain: "A class of TTLs that nothing uses is a leftover, or an entry that should use it has another one.",
		Fix:     "remove it, or use it"}, (*context).unusedTTLs},
	{finding.Rule{Code: "KW214", Name: "jitter-on-lock", Severity: warning, Summary: "Jitter on the TTL of a lock",
		Explain: "Jitter keeps many cached values from expiring at once. On a lock it makes the time after which a holder " +
			"must stop a matter of chance.",
		Fix: "write the TTL without ~"}, (*context).lockJitter},
	{finding.Rule{Code: "KW215", Name: "rate-window-expires", Severity: errorLevel,
		Summary: "A rate limit whose key expires within its window",
		Explain: "When the key is gone the count begins again: `rate: 100 per 1h` with a TTL of a minute lets 6,000 through.",
		Fix:     "make the TTL at least as long as the window"}, (*context).rateTTL},
	{finding.Rule{Code: "KW216", Name: "unbounded-stream", Severity: warning, Summary: "A stream that grows without bound",
		Explain: "XADD appends for ever unless MAXLEN or MINID trims, and a stream's entries have no TTL of their own " +
			"(https://redis.io/docs/latest/commands/xadd/).",
		Fix: "add maxlen: 10000, or a ttl"}, (*context).streams},
	{finding.Rule{Code: "KW321", Name: "slots-differ", Severity: errorLevel,
		Summary: "Keys that change together lie in different cluster slots",
		Explain: "With `cluster: true` all keys that one script or transaction touches must hash to one slot, or the " +
			"server refuses with CROSSSLOT. A hash tag decides: `queue:{#mail}:{priority}` and `queue:{#mail}:jobs` share one " +
			"(https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags).",
		Fix: "put the same {#…} into the patterns"}, (*context).slots},
	{finding.Rule{Code: "KW322", Name: "event-cannot-reach", Severity: errorLevel,
		Summary: "An event deletes an entry whose keys it cannot build",
		Explain: "To delete `cache:option:{productId}:{optionId}` the event must carry both ids. One that carries only the " +
			"product would have to scan for the rest, which is slow and misses keys.",
		Fix: "add the placeholder to with, or delete it by another event"}, (*context).eventReach},
	{finding.Rule{Code: "KW323", Name: "idle-event", Severity: warning, Summary: "An event that does nothing",
		Explain: "It deletes nothing and emits nothing: the declared invalidation never happens.",
		Fix:     "add deletes: […], or remove the event"}, (*context).idleEvents},
	{finding.Rule{Code: "KW324", Name: "cleanup-hits-permanent", Severity: errorLevel,
		Summary: "A clean-up rule covers keys that must never go",
		Explain: "The glob matches keys of an entry with `ttl: none`. Idle for a while is normal for settings, and " +
			"deleting them is a loss. A rule with `keep` may cover them: it leaves the newest.",
		Fix: "narrow the glob, or give the entry a TTL"}, (*context).cleanupPermanent},
	{finding.Rule{Code: "KW325", Name: "cleanup-not-owned", Severity: warning,
		Summary: "A clean-up rule reaches outside of owns",
		Explain: "A clean-up may only take what is ours. The finding shows a key that the glob matches and owns does not.",
		Fix:     "narrow the glob, or widen owns"}, (*context).cleanupOwned},
	{finding.Rule{Code: "KW336", Name: "cleanup-no-order", Severity: errorLevel,
		Summary: "A clean-up rule cannot tell which keys are older",
		Explain: "`older` needs keys with one date or time in them (date with a year, timestamp, unix_s, unix_ms or ulid), " +
			"`keep` such a time or else one int. With none or several of them nothing is cleaned up.",
		Fix: "declare the key with one such placeholder, narrow the glob, or use idle"}, (*context).cleanupOrder},
	{finding.Rule{Code: "KW326", Name: "overlapping-channels", Severity: warning,
		Summary: "Two channels have a name in common",
		Explain: "A subscriber of the one receives messages of the other, in another form.",
		Fix:     "change a literal part"}, (*context).channels},
	{finding.Rule{Code: "KW327", Name: "script-touches-undeclared", Severity: errorLevel,
		Summary: "A script touches keys that are not declared as its own",
		Explain: "Every key a script touches must be passed in KEYS: a cluster looks at them to find the server, and ACL " +
			"rules and this declaration to find what is allowed " +
			"(https://redis.io/docs/latest/develop/interact/programmability/eval-intro/). A key that is written out in the " +
			"script, or an index beyond the declared ones, is not among them; KEYS and SCAN find keys that are not declared.",
		Fix: "name the entry under keys and use KEYS[n]"}, (*context).scriptKeys},
	{finding.Rule{Code: "KW328", Name: "script-arguments-differ", Severity: warning,
		Summary: "A script uses other keys or arguments than are declared",
		Explain: "The generated function passes what is declared, in that order. An index beyond that is nil in Lua, which " +
			"most commands refuse and some take as the text \"false\"; one that is not used is work for every caller.",
		Fix: "make keys and args what the script uses"}, (*context).scriptArguments},
	{finding.Rule{Code: "KW329", Name: "script-effect", Severity: errorLevel,
		Summary: "A script that is said to read only writes",
		Explain: "A script with `effect: reads` is sent with EVALSHA_RO, where the server refuses writes, and is sent " +
			"again when its reply was lost.",
		Fix: "write effect: idempotent if twice has the same result as once, else remove it"}, (*context).scriptEffects},
	{finding.Rule{Code: "KW339", Name: "lane-without-order", Severity: warning,
		Summary: "A placeholder of a queue that looks like its lanes, and is not in order",
		Explain: "`order: priority` makes the words of {priority} the lanes of one queue, which its workers drain in that " +
			"order. Without it `mail:{priority}` is a queue of its own for each word, with its own workers, leases and dead " +
			"jobs, and the one is not before the other. That may be meant of `{tenant}`; of `{lane}`, or of high|normal|low, " +
			"it " +
			"rarely is.",
		Fix: "add order, with the name of the placeholder; ignore it if each word is to be a queue of its own"},
		(*context).lanesUnordered},
	{finding.Rule{Code: "KW340", Name: "entity-apart", Severity: note,
		Summary: "An entity whose indexes lie in other cluster slots than its items",
		Explain: "With one hash tag in all of its patterns an entity is in one slot: each write is one atomic step in one " +
			"round trip, and one server bears all of it. Without, items spread over the cluster and a write takes several " +
			"steps: it notes what it is about to do, writes the item, and then its indexes; what a dead writer leaves is " +
			"cleaned up within half a minute. Nothing leaks either way, but an index may lag for a moment. " +
			"docs/entities.md has both.",
		Fix: "put the same {#…} into all patterns, or leave it: both are sound"}, (*context).crossSlotEntities},
	{finding.Rule{Code: "KW330", Name: "emit-slot", Severity: errorLevel,
		Summary: "An entity announces on a stream or a sharded channel of another slot",
		Explain: "An entity writes its change and its announcement in one script. With `cluster: true` a script may only " +
			"touch one slot, and the key of a durable channel is in one, as is the name of a sharded one. Where the entity " +
			"itself is in several slots, an item that has expired is announced in the slot of the index record, all else in " +
			"that of the items, which must then be one for all of them " +
			"(https://redis.io/docs/latest/develop/interact/pubsub/#sharded-pubsub).",
		Fix: "put the same {#…} into both patterns, or make it a channel that is neither durable nor sharded"},
		(*context).emitSlots},
	{finding.Rule{Code: "KW331", Name: "message-without-source", Severity: errorLevel,
		Summary: "A message cannot be filled by what announces it",
		Explain: "The message of a channel on which an entity announces is filled from the placeholders of its key and its " +
			"fields; when an item expires it is gone, and there are only the placeholders left, and the fields with an index " +
			"key per value. The message of an event is filled from what the event carries (`with`). A field that is encrypted " +
			"is sealed for its item's key and does not open elsewhere. What fills a part of a message has its type, or the " +
			"message says text; fields of bytes are not sent.",
		Fix: "name fields that are there, or make the others optional"}, (*context).messages},
	{finding.Rule{Code: "KW332", Name: "sharded-pattern", Severity: warning, Summary: "A sharded channel has placeholders",
		Explain: "There is no PSUBSCRIBE for sharded channels (https://redis.io/docs/latest/commands/ssubscribe/): who " +
			"wants all of them must know each name.",
		Fix: "take the placeholder out of the channel, and into the message"}, (*context).shardedPatterns},
	{finding.Rule{Code: "KW333", Name: "databases-share", Severity: note,
		Summary: "A plain channel is shared by all databases of a server",
		Explain: "Pub/sub knows no databases: what is published in database 0 is received in database 1, too " +
			"(https://redis.io/docs/latest/develop/interact/pubsub/#database--scoping). The envelope of a message says in " +
			"which database it was published, and listeners of another one drop it. With `envelope: plain` there is no such " +
			"word, and two installations on one server receive each other's messages. A server of a cluster has one database.",
		Fix: "remove envelope: plain, use one server per installation, or leave it: the channel may be meant for all"},
		(*context).shared},
	{finding.Rule{Code: "KW337", Name: "idle-job", Severity: errorLevel,
		Summary: "A job of the janitor that has nothing to do",
		Explain: "A clean-up executes the rules of `cleanup`, a sweep looks at entities, a job of TTLs at keys that are " +
			"declared to expire, or never to. Without one of them the job runs for nothing, and its users rely on it.",
		Fix: "declare what it is for, or remove the job"}, (*context).idleJobs},
	{finding.Rule{Code: "KW338", Name: "cleanup-never-run", Severity: note,
		Summary: "Clean-up rules, a janitor, and no job that cleans",
		Explain: "The janitor does what its jobs say. The rules of `cleanup` are executed by `keywright clean` and by a " +
			"job with `do: clean` only.",
		Fix: "add a job with do: clean"}, (*context).cleanupNeverRun},
	{finding.Rule{Code: "KW345", Name: "pressure-order", Severity: warning,
		Summary: "Pressure rules that are not in the order in which they act",
		Explain: "Rules are written with rising ratios, and what is released at one of them was shortened at a lower one " +
			"before: else items are deleted that would have gone by themselves a little later.",
		Fix: "order the rules by at, and shorten before you release"}, (*context).pressureOrder},
	{finding.Rule{Code: "KW346", Name: "pressure-below-minimum", Severity: warning,
		Summary: "Under pressure items live for less than their ttl allows",
		Explain: "The lower bound of the ttl is what readers may rely on. A rule may go below it, as deleting does; say " +
			"so with an ignore comment.",
		Fix: "shorten to the lower bound of the ttl, or lower that"}, (*context).pressureMinimum},
	{finding.Rule{Code: "KW347", Name: "pressure-shortens-nothing", Severity: errorLevel,
		Summary: "A pressure rule that has nothing to shorten",
		Explain: "No item lives for longer than the upper bound of its ttl, so shortening to that changes nothing.",
		Fix:     "shorten to less"}, (*context).pressureIdle},
	{finding.Rule{Code: "KW348", Name: "pressure-permanent", Severity: errorLevel,
		Summary: "A pressure rule takes items that must never go",
		Explain: "With `ttl: none` an item is there until a program deletes it. That the memory is short is no reason " +
			"to lose it.",
		Fix: "give the entity a ttl, or name another one"}, (*context).pressurePermanent},
	{finding.Rule{Code: "KW350", Name: "cannot-be-written-back", Severity: errorLevel,
		Summary: "What a move stores does not say what was in the file",
		Explain: "Until a migration is complete the files follow what programs write to Redis, so that each phase can be " +
			"left again. For that each capture and each member must follow from the key, a field, a member or the value. " +
			"`slug({name})` alone is not enough: San Diego and san-diego are one slug. The text may be kept elsewhere: `kept: " +
			"{name: rss_feeds}` says that it is the name of a field of that hash.",
		Fix: "use what was captured, or say where it is kept"}, (*context).writtenBack},
	{finding.Rule{Code: "KW351", Name: "ttl-begins-again", Severity: warning,
		Summary: "A record that is moved lives for a whole TTL again",
		Explain: "An article of a file that is 47 hours old has one hour left of its two days. Without `ttl: {from: …}` " +
			"the TTL counts from the import, and a second import makes it live longer still.",
		Fix: "add ttl: {from: iso8601(.posted_at)} or {until: …}; ignore it where files hold nothing old"},
		(*context).movedTTL},
	{finding.Rule{Code: "KW352", Name: "parts-depend", Severity: errorLevel,
		Summary: "Two parts of a migration share what they move",
		Explain: "A part has one phase: whether file or Redis decides about its records. Records or an entry that two " +
			"parts move would have two. A hash that keeps the text of a capture must be there when it is asked.",
		Fix: "put the moves into one part, or order the parts"}, (*context).partOrder},
	{finding.Rule{Code: "KW353", Name: "open-gate", Severity: warning,
		Summary: "A gate that lets a part go on although its sides may differ",
		Explain: "The next phase reads what this one has not proven. With `compared: 0` nothing was compared; with " +
			"`unequal` or `marks` above 0 some records are known to differ, or may.",
		Fix: "compare at least some, and allow no difference; ignore rules have an owner and an end"}, (*context).weakGates},
	{finding.Rule{Code: "KW354", Name: "kept-twice", Severity: warning,
		Summary: "A record is inside of another one that is stored whole",
		Explain: "The same data is then in two entries, and a change of one leaves the other as it was.",
		Fix:     "take members of the outer record instead of the whole, or leave the inner move out"}, (*context).keptTwice},
	{finding.Rule{Code: "KW355", Name: "unused-source", Severity: warning, Summary: "A source that no move takes from",
		Explain: "Its records stay in the file, and are lost when the file is archived.",
		Fix:     "add a move, or remove the source"}, (*context).unusedSources},
	{finding.Rule{Code: "KW356", Name: "ignored-and-moved", Severity: warning,
		Summary: "What is ignored is also moved",
		Explain: "ignore: says what is meant to stay in the files, so that the gate covered does not ask for it. Below a path " +
			"that a move takes from it would hide what the move does not read.",
		Fix: "ignore the members beside it by their names"}, (*context).ignoredAndMoved},
	{finding.Rule{Code: "KW335", Name: "sealed-where-compared", Severity: errorLevel,
		Summary: "Something encrypted where it is compared or sent",
		Explain: "What is encrypted is sealed with a nonce of its own each time and bound to its key and field. As a " +
			"member of a set or sorted set, or as the name of a field, it would never be found again; a message has no key to " +
			"be bound to. In patterns, indexes and scores it is refused anyway: their values stand on the server in plain text.",
		Fix: "encrypt a field or a value, and use an id here"}, (*context).sealedPlaces},
	{finding.Rule{Code: "KW401", Name: "no-owner", Severity: note, Summary: "An entry without an owner",
		Explain: "The owner is the only writer; everybody else reads. Without one there is no team to ask before the " +
			"key changes.",
		Fix: "add owner to the file or the entry"}, (*context).owners},
	{finding.Rule{Code: "KW402", Name: "owner-reads", Severity: warning, Summary: "The owner is listed as a reader",
		Explain: "The owner reads and writes anyway; in the list of readers it is a slip, often of a copied entry.",
		Fix:     "remove it from readers"}, (*context).ownerReads},
	{finding.Rule{Code: "KW403", Name: "reserved-user", Severity: errorLevel,
		Summary: "An owner or reader with the name of a user that is there already",
		Explain: "`keywright acl` makes an ACL user of each owner and reader. Every client that gives no name is the user " +
			"`default`: with an owner of that name `keywright acl apply` would leave it a few keys and commands. Replicas and " +
			"sentinels log in as users of their own, and so does keywright: `default`, `replica`, `replica-user`, `sentinel`, " +
			"`sentinel-user`, `keywright` and `keywright-repair` are no names of components.",
		Fix: "give the component another name"}, (*context).reservedUsers},
}
