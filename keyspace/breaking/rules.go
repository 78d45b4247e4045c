package breaking

import "github.com/keywright/keywright/keyspace/finding"

const (
	errorLevel = finding.Error
	warning    = finding.Warning
)

// rules is the table. A code is never used for anything else again.
var rules = []rule{
	{finding.Rule{Code: "KW601", Name: "keys-stranded", Severity: errorLevel,
		Summary: "Keys of an entry do not match its new pattern",
		Explain: "A key that was written under the old pattern, such as the one shown, belongs to no entry any more: " +
			"generated code does not find it, an audit calls it unknown, and if it has no TTL it stays for ever. With the old " +
			"pattern under `was` it is a legacy key that a migration can rename. A var has its new type under `was`, too: " +
			"where it changed, the old pattern needs a var of another name with the old type. A placeholder whose unit changes " +
			"from `unix_s` to `unix_ms` strands keys, too: the digits of the one match the other and mean another time.",
		Fix: "add the old pattern to was, and remove it when an audit finds no legacy keys"}, Key,
		"there is none without `was`. With it: code that knows both names, then rename what is there, then drop `was`",
		(*context).stranded},
	{finding.Rule{Code: "KW602", Name: "entry-removed", Severity: errorLevel,
		Summary: "An entry is gone, and no entry declares its keys",
		Explain: "Its keys are still on the server. Keys with a TTL go by themselves; the others stay, and no page says " +
			"what they were.",
		Fix: "keep the entry until its keys are gone: stop writing, wait for the TTL or clean up, then remove it, with a " +
			"line under retired"}, Key,
		"first all code that uses the entry, then the declaration", (*context).removed},
	{finding.Rule{Code: "KW603", Name: "former-name-dropped", Severity: warning,
		Summary: "A former pattern is not known any more",
		Explain: "Keys that still have the former name are unknown from now on instead of legacy.",
		Fix:     "run keywright audit first: it counts the legacy keys"}, Key,
		"first an audit without legacy keys, then the declaration", (*context).forgotten},
	{finding.Rule{Code: "KW604", Name: "namespace-given-up", Severity: warning,
		Summary: "A part of the server is not owned any more",
		Explain: "Undeclared keys under this glob were errors in an audit. From now on they are not reported.",
		Fix:     "keep it under owns, or see that no such keys are left"}, Key,
		"any", (*context).ownsNarrowed},
	{finding.Rule{Code: "KW605", Name: "channel-moved", Severity: errorLevel,
		Summary: "A channel has another name or is gone",
		Explain: "Pub/sub keeps nothing: while publishers and subscribers are deployed one after the other, messages sent " +
			"to the one name are not received under the other. So it is where a placeholder changes its unit from `unix_s` " +
			"to `unix_ms`.",
		Fix: "declare the new channel beside the old one, publish to both, then move the subscribers"}, Key,
		"subscribers on both channels, then publishers, then drop the old channel", (*context).channelMoved},
	{finding.Rule{Code: "KW606", Name: "keys-moved", Severity: warning,
		Summary: "Keys have another name, and deployed code uses the old one",
		Explain: "The old name is known under `was`, so nothing is stranded. But a process with the older code, the " +
			"readers' among them, goes on reading and writing the old name, and what the one writes the other does not see. " +
			"ACL users of readers may not have the new name yet.",
		Fix: "let new code read the old name, too, until all readers and writers are deployed; apply the ACL " +
			"rules first"}, Key,
		"ACL rules for both names, then readers that look under both, then writers, then rename what is there, " +
			"then drop `was`", (*context).keysMoved},

	{finding.Rule{Code: "KW607", Name: "namespace-refused", Severity: errorLevel,
		Summary: "A namespace may not be chosen any more",
		Explain: "Programs choose the namespace of their keys when they start. One that chose a name which the declaration " +
			"does not allow any more is refused at its start, and the keys under it belong to no declaration. A declaration " +
			"that gives its namespace up has fixed names: programs with another one find nothing.",
		Fix: "keep the name under names until no program uses it and its keys are gone"}, Key,
		"first the programs, then the keys of the namespace, then the declaration", (*context).namespaceRefused},

	{finding.Rule{Code: "KW608", Name: "namespace-changed", Severity: warning,
		Summary: "The namespace is new, or has another name",
		Explain: "The keys that constructs derive begin with the namespace: the fencing tokens of a lock `poppo:lock:{n}` " +
			"are under `poppo:{#poppo:lock:{n}}:fence` where there is a namespace `poppo`, and under " +
			"`{#poppo:lock:{n}}:fence` where there is none. What is stored keeps its names. Until the keys are renamed queues " +
			"do not find their jobs, fencing tokens begin again, and lists of entities lack items.",
		Fix: "stop the programs, run keywright rename --from-namespace - --apply (with another name: --from-namespace " +
			"OLD), start the new programs"}, Key,
		"stop the programs, then the declaration, then rename what is there, then the new programs",
		(*context).namespaceChanged},

	{finding.Rule{Code: "KW609", Name: "keys-taken", Severity: errorLevel,
		Summary: "A pattern matches keys of another entry now, which are other things",
		Explain: "The key shown could be written under the other entry before: a pattern is new or wider, or the narrower " +
			"of two is gone. Where it is there, commands of the new entry fail on it, or read a value of another type; and " +
			"deployed code goes on writing it.",
		Fix: "give the new entry a pattern that no other entry could match; keep one that goes until its keys are gone"}, Key,
		"first all code that writes such keys under the other entry, then rename or delete those that are there, then the " +
			"declaration", (*context).keysTaken},

	{finding.Rule{Code: "KW610", Name: "keys-merged", Severity: warning,
		Summary: "Keys of an entry are read as another one",
		Explain: "The entry had the narrower of two patterns that match its keys. It is gone, or has another pattern, and " +
			"the wider one, which stays, takes what is on the server: new code reads it, lists it and counts it as its own. " +
			"Deployed code goes on writing it as the old entry. (Where the values are nothing for the other entry it is KW609.)",
		Fix: "keep the entry until its keys are gone, or see that code of the wider one bears them"}, Key,
		orderOfMerged, (*context).keysMerged},

	{finding.Rule{Code: "KW611", Name: "type-changed", Severity: errorLevel,
		Summary: "The keys of an entry have another Redis type",
		Explain: "A key on the server keeps its type until it is deleted. Commands of the new type fail on it " +
			"with WRONGTYPE.",
		Fix: "give the new type a new pattern and the old one its own entry until its keys are gone"}, Value,
		"there is none under one name", (*context).typeChanged},
	{finding.Rule{Code: "KW612", Name: "field-removed", Severity: errorLevel, Summary: "A field is gone",
		Explain: "A process with the older code still expects it, and a value written without it is refused there if it " +
			"was required. What is stored keeps the field.",
		Fix: "make it optional first; when no program reads it write retired: [NAME] in its place"}, Value,
		"first the field optional everywhere, then code that does not read it, then the declaration without it",
		(*context).fieldRemoved},
	{finding.Rule{Code: "KW613", Name: "value-narrowed", Severity: errorLevel,
		Summary: "Stored values do not fit their new type",
		Explain: "What is stored was written under the older type. A value like the one shown does not fit the new one: " +
			"it is a finding in an audit, and code that reads it may refuse it.",
		Fix: "widen the type, or rewrite what is stored first"}, Value,
		"first rewrite what is stored, with writers that keep to the narrower type, then the declaration",
		(*context).valueNarrowed},
	{finding.Rule{Code: "KW614", Name: "required-field-added", Severity: errorLevel,
		Summary: "A field is required that stored values may lack",
		Explain: "Values written before do not have it, and reading them fails.",
		Fix:     "declare it optional; make it required when every value has it"}, Value,
		"writers with the field optional, then rewrite what lacks it, then the declaration", (*context).fieldRequired},
	{finding.Rule{Code: "KW615", Name: "index-changed", Severity: errorLevel,
		Summary: "An index does not hold the items that are there",
		Explain: "An index is kept with each write of an item. Items that were written before are not in a new index, and " +
			"an index that is gone stays on the server with all its ids.",
		Fix: "build it with keywright entities index --apply before code relies on it; take one that is gone off the " +
			"server with --remove"}, Value,
		"of a new index: " + indexAdded + "; of one that is gone: " + indexRemoved + "; of one that has changed: " +
			indexMoved, (*context).indexChanged},
	{finding.Rule{Code: "KW616", Name: "message-changed", Severity: errorLevel,
		Summary: "Messages of a channel have another form",
		Explain: "Publishers and subscribers are deployed one after the other; in between the one does not " +
			"understand the other.",
		Fix: "add fields as optional, and remove them when no subscriber reads them"}, Value,
		"subscribers that read both forms, then publishers, then drop the old form", (*context).messageChanged},
	{finding.Rule{Code: "KW618", Name: "sealed-unreadable", Severity: errorLevel,
		Summary: "What is sealed does not open any more",
		Explain: "A sealed text is bound to the name of the package, to its key and to its field. With another package " +
			"name none of those that are stored opens.",
		Fix: "keep the name, or write what is sealed again under the new one"}, Value,
		"there is none under another package name", (*context).sealedUnreadable},
	{finding.Rule{Code: "KW617", Name: "form-changed", Severity: errorLevel,
		Summary: "What is stored under a key has another form",
		Explain: "The algorithms of a rate limit, and the orders of ties in a ranking, keep different things under one " +
			"key. What is there is misread or refused, and in a rolling deploy both versions write.",
		Fix: "give the new form a key of its own"}, Value,
		"there is none under one name", (*context).formChanged},
	{finding.Rule{Code: "KW619", Name: "value-widened", Severity: warning,
		Summary: "Deployed readers cannot read what new writers write",
		Explain: "What is stored fits the new type. But a reader with the older code parses what it reads, and refuses a " +
			"value that its type does not have: a text where it expects a number.",
		Fix: "deploy the readers first"}, Value,
		"all readers, then the writers", (*context).valueWidened},
	{finding.Rule{Code: "KW620", Name: "writers-differ", Severity: warning,
		Summary: "Deployed code writes an entry with other operations",
		Explain: "A cache or a counter keeps more in step than a plain SET does: a load under way is not stopped by " +
			"a write of an older process, and a SET overwrites what was counted.",
		Fix: "deploy all writers before anybody relies on the construct"}, Value,
		"all writers, then what relies on the construct", (*context).writersDiffer},

	{finding.Rule{Code: "KW621", Name: "begins-to-expire", Severity: errorLevel,
		Summary: "Keys that were kept for good expire from now on",
		Explain: "Programs that relied on them find them gone. Keys that are there have no TTL and are findings until they " +
			"are rewritten.",
		Fix: "make sure that everything in them can be made again"}, Policy,
		"readers that bear a missing key, then writers", (*context).beginsToExpire},
	{finding.Rule{Code: "KW622", Name: "ttl-shortened", Severity: warning, Summary: "Keys live shorter than they did",
		Explain: "Readers find the key gone earlier. Live keys may have a longer TTL than the new most, which an audit " +
			"reports until they have expired.",
		Fix: "see that readers can do without"}, Policy,
		"readers that bear a missing key, then writers", (*context).ttlShortened},
	{finding.Rule{Code: "KW623", Name: "stops-expiring", Severity: warning,
		Summary: "Keys that expired are kept for good from now on, or may be",
		Explain: "Keys that are there still have their TTL and go, although the declaration says that they stay. And what " +
			"used to clean itself up now grows.",
		Fix: "PERSIST what is to stay, and say who deletes it"}, Policy,
		"writers, then PERSIST of what is there", (*context).stopsExpiring},
	{finding.Rule{Code: "KW624", Name: "bounds-narrowed", Severity: warning,
		Summary: "TTLs that a writer could choose are refused",
		Explain: "A write that asks for such a TTL fails and writes nothing.",
		Fix:     "look for ExpiresIn in the code of the writers"}, Policy,
		"first the code of writers, then the declaration", (*context).boundsNarrowed},
	{finding.Rule{Code: "KW625", Name: "sliding-changed", Severity: warning,
		Summary: "Reading renews the TTL no more, or does now",
		Explain: "Without `sliding` a key that is in use expires under its users. With it a key that is read never goes.",
		Fix:     "check how long users may rely on it"}, Policy,
		"readers and writers together", (*context).slidingChanged},
	{finding.Rule{Code: "KW626", Name: "owner-changed", Severity: warning, Summary: "Another component is the only writer",
		Explain: "The former owner's ACL user loses its right to write with the next `keywright acl apply`.",
		Fix:     "deploy the new owner first, and apply the ACL rules last"}, Policy,
		"the new owner, then the ACL rules, then stop the former owner", (*context).ownerChanged},
	{finding.Rule{Code: "KW627", Name: "reader-dropped", Severity: errorLevel,
		Summary: "A component may not read an entry any more",
		Explain: "Its ACL user loses the right with the next `keywright acl apply`, and its reads fail with NOPERM.",
		Fix:     "keep the reader until its code has stopped reading"}, Policy,
		"first the code that stops reading, then the ACL rules", (*context).readerDropped},
	{finding.Rule{Code: "KW628", Name: "limit-lowered", Severity: warning,
		Summary: "A lease, a number of attempts, a time limit, a rate or a length is lower",
		Explain: "Jobs that take longer than the new lease run twice, jobs are given up after fewer attempts, a run that " +
			"takes longer than the new time limit fails, callers are refused earlier, and a stream drops entries that " +
			"consumers may not have read.",
		Fix: "check what is under way now"}, Policy,
		"consumers and workers that keep to the new limit, then the others", (*context).limitLowered},
	{finding.Rule{Code: "KW629", Name: "invalidation-dropped", Severity: errorLevel,
		Summary: "An event deletes or announces less",
		Explain: "What it made stale stays in the cache until its TTL ends, and readers see old data.",
		Fix:     "keep it, or see that the entry is invalidated in another way"}, Policy,
		"first what invalidates or listens in another way, then the declaration", (*context).invalidationDropped},
	{finding.Rule{Code: "KW630", Name: "cleanup-widened", Severity: warning,
		Summary: "A clean-up may take keys that it could not take before",
		Explain: "The key shown could not be cleaned up under the rules before.",
		Fix:     "run keywright clean without --apply and read the plan"}, Policy,
		"any; the clean-up last", (*context).cleanupWidened},
	{finding.Rule{Code: "KW631", Name: "group-gone", Severity: errorLevel,
		Summary: "A consumer group is gone or has another name",
		Explain: "The group stays on the server with what its consumers have not acknowledged. A group under a new name " +
			"begins at the configured id: it skips what is there, or reads it a second time.",
		Fix: "drain the group first, or create the new one at the old one's position (XINFO GROUPS, XGROUP CREATE); then " +
			"XGROUP DESTROY the old one"}, Policy,
		"consumers of both groups, then publishers unchanged, then stop the old group when it has nothing pending",
		(*context).groupGone},
	{finding.Rule{Code: "KW633", Name: "stamp-gone", Severity: errorLevel,
		Summary: "A time or version of items is not written any more",
		Explain: "Readers find the field as it was at the last write of older code. Without a version a conditional write " +
			"has nothing to compare, and two writers overwrite each other.",
		Fix: "keep the stamp until no reader and no conditional write uses it"}, Policy,
		"first the code that reads it, then the declaration", (*context).stampGone},
	{finding.Rule{Code: "KW632", Name: "job-dropped", Severity: warning, Summary: "The janitor does less than before",
		Explain: "A job is gone, is done for one entry only, or keeps fewer backups. What it did is not done any more: " +
			"keys pile up, or an older backup is deleted with the next one.",
		Fix: "see that something else does it"}, Policy,
		"any", (*context).jobDropped},
	{finding.Rule{Code: "KW634", Name: "job-added", Severity: warning,
		Summary: "The janitor changes keys that it did not change before",
		Explain: "A job that cleans, sweeps or mends TTLs is new, or is about more entries. It changes keys without " +
			"asking, wherever the janitor runs.",
		Fix: "run keywright janitor run NAME without --apply and read the plan"}, Policy,
		"any; the janitor last", (*context).jobAdded},
	{finding.Rule{Code: "KW635", Name: "no-longer-retired", Severity: errorLevel,
		Summary: "A name, pattern, field or word is not retired any more",
		Explain: "`retired` promises that what is gone never comes back under the same name. Without the line it may be " +
			"declared again, and what is still stored, or compiled, is taken for the new thing.",
		Fix: "keep the line; it costs nothing"}, Policy,
		"any", (*context).forgottenRetired},
	{finding.Rule{Code: "KW636", Name: "pressure-widened", Severity: warning,
		Summary: "When memory is short items go that did not go before",
		Explain: "The rule names values, or begins at a ratio, for which nothing happened before, leaves a shorter " +
			"lifetime, or deletes where items were only shortened.",
		Fix: "check who relies on these items"}, Policy,
		"any", (*context).pressureWidened},

	{finding.Rule{Code: "KW637", Name: "moves-otherwise", Severity: errorLevel,
		Summary: "A move makes other records of a file than before",
		Explain: "What has been moved under the old rule stays where it is: under other keys, with other values. While a " +
			"part is under way its sides then differ, and what the new rule does not find in Redis may be taken for deleted.",
		Fix: "take the part back to off, change it, import it again; after complete the move can go"}, Value,
		"all programs together, with the part at off", (*context).movedOtherwise},
	{finding.Rule{Code: "KW638", Name: "part-gone", Severity: warning,
		Summary: "A migration or part is gone, or moves at another time",
		Explain: "The phase of a part is kept under its name. A renamed part begins at off again, where programs write to " +
			"files that the others do not read any more.",
		Fix: "remove a part after it is complete; do not rename one that is under way"}, Policy,
		"after the part is complete", (*context).partGone},
	{finding.Rule{Code: "KW639", Name: "gate-lowered", Severity: warning,
		Summary: "A part of a migration goes on with less proof",
		Explain: "Fewer comparisons, more differences, a shorter time or an older backup are enough, or a value is not " +
			"compared any more.",
		Fix: "say in the review why that is enough"}, Policy,
		"any", (*context).gateLowered},

	{finding.Rule{Code: "KW641", Name: "name-gone", Severity: errorLevel,
		Summary: "An entry, channel, event or script is gone or has another name",
		Explain: "Generated functions and types are named after it: code that calls them does not compile any more.",
		Fix:     "tell its callers, or keep the old name"}, API,
		"callers and declaration in one step", (*context).nameGone},
	{finding.Rule{Code: "KW642", Name: "parameters-changed", Severity: errorLevel,
		Summary: "The parameters of an entry are others",
		Explain: "Placeholders are the parameters of the generated functions, in the order of the pattern. A renamed or " +
			"reordered one of the same type compiles and builds another key. So does one whose default is another one or is " +
			"gone, where callers leave it out.",
		Fix: "change the callers in the same step"}, API,
		"callers and declaration in one step", (*context).parametersChanged},
	{finding.Rule{Code: "KW643", Name: "script-changed", Severity: errorLevel,
		Summary: "A script takes or returns something else",
		Explain: "Its generated function has other parameters or another result. While old and new code run side by side " +
			"both send their own version of the script.",
		Fix: "add the new version as a script of its own"}, API,
		"the new version as a script of its own, then its callers, then drop the old one", (*context).scriptChanged},
	{finding.Rule{Code: "KW644", Name: "package-renamed", Severity: errorLevel,
		Summary: "The generated package has another name",
		Explain: "Every import of it has to change.",
		Fix:     "keep the name"}, API,
		"callers and declaration in one step", (*context).packageRenamed},
	{finding.Rule{Code: "KW645", Name: "go-type-changed", Severity: warning,
		Summary: "A value has another type in generated code",
		Explain: "The stored bytes fit both types, but code that uses the value may not compile: a text that becomes an " +
			"enum, an int that becomes a time.",
		Fix: "change the callers in the same step"}, API,
		"callers and declaration in one step", (*context).goTypeChanged},
}
