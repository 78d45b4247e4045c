package wording

import "slices"

// language holds the phrases of one language: what people write on pages about keys. A field is a
// list of phrases between blanks; _ is a blank within one, * any letters at its end.
type language struct {
	code string

	// Units of time.
	ms, second, minute, hour, day, week, month, year string

	numbers string // numbers before a unit: 2=two|a_couple_of
	whole   string // whole times: 15m=quarter_of_an_hour

	lasts    string // say that a time is one to live: lives, expires
	within   string // say so right before the time: for, after
	passes   string // say so right after the time
	forever  string // say that a key stays
	alone    string // say that a key stays where a column or a label asks how long
	until    string // say that an event ends a key: until, as long as
	after    string // between a time and the event that it begins at: 2 days after the season
	follows  string // between an event and the time that begins at it, in languages that turn it round
	activity string // events in the life of a key: its creation, the last access
	every    string // before a time that says how often
	past     string // before a time that says of when something is: the last 7 days
	example  string // before an example: e.g.
	filler   string // words beside a time that say nothing: about, at most

	hash, list, set, zset, text, stream, channel string // types

	keyTitle, ttlTitle, typeTitle, docTitle string // titles of columns and labels; a title holds one
}

// languages lists the languages of teams that were seen to keep such pages.
var languages = slices.Concat(western, eastern)

// western lists those of the west and the north of Europe.
var western = []language{
	{
		code:   "en",
		ms:     "ms msec msecs milli millis millisecond milliseconds",
		second: "s sec secs second seconds",
		minute: "m min mins minute minutes",
		hour:   "h hr hrs hour hours",
		day:    "d day days",
		week:   "w wk wks week weeks",
		month:  "month months",
		year:   "yr yrs year years",
		numbers: "0.5=half_an|half_a 1.5=one_and_a_half 1=one|a|an 2=two|a_couple_of 3=three 4=four 5=five 6=six " +
			"7=seven 8=eight 9=nine 10=ten 11=eleven 12=twelve 14=fourteen 15=fifteen 20=twenty " +
			"24=twenty-four|twenty_four 25=twenty-five 30=thirty 40=forty 45=forty-five|forty_five " +
			"48=forty-eight|forty_eight 50=fifty 60=sixty 72=seventy-two 90=ninety 100=a_hundred|hundred",
		whole: "15m=a_quarter_of_an_hour|quarter_of_an_hour|quarter_hour 45m=three_quarters_of_an_hour " +
			"14d=fortnight",
		lasts: "ttl expir* ex lifetime lifespan lives live living lasts lease retention retained kept keeps " +
			"times_out timeout inactiv* gone goes_away vanish* disappear* evicted deleted removed dropped " +
			"thrown_away purged cleaned_up valid ages_out later stays stay survives remembered held",
		within: "for after in idle",
		forever: "no_ttl no_expiry no_expiration no_expire without_ttl without_a_ttl without_expiry " +
			"without_expiration never_expir* does_not_expire doesn't_expire " +
			"do_not_expire don't_expire not_expire never_deleted never_removed kept_forever kept_for_ever " +
			"kept_indefinitely stays_forever stays_for_ever lives_forever lives_for_ever stored_forever " +
			"stored_permanently kept_permanently stays_for_good kept_for_good ttl_none ttl:_none ttl=none " +
			"ttl_-1 ttl:_-1",
		alone: "none no n/a na never permanent permanently persistent not_set unlimited forever for_ever " +
			"infinite infinity indefinite indefinitely ∞ -1 null nil undefined",
		until: "until till as_long_as remaining_life* remaining_ttl remaining_time remaining_validity " +
			"what_is_left what's_left rest_of_the end_of at_the_end",
		after: "after past following beyond from_the_end once_the",
		activity: "creat* writ* access* log_in login logins sign-in update* refresh* request* issu* " +
			"sent sending touch* set use used use_of idle read reads activity inactivity being_set " +
			"insert* added heartbeat heartbeats ping poll seen click change",
		every: "every each once once_per once_a once_an per times twice",
		past: "last past previous older_than newer_than more_than_once_in in_the_last recent within_the_last " +
			"over_the_last",
		example: "e.g. e.g., eg. eg for_example for_example, for_instance for_instance, example: examples: such_as " +
			"bad_name:",
		filler: "about ca approx approximately roughly at_most max maximum up_to default sliding fixed " +
			"fixed_window refreshed renewed in for after of ttl ex expires expiry expire the a an only " +
			"configurable around",
		keyTitle:  "key pattern prefix namespace name",
		ttlTitle:  "ttl how_long expir lifetime retention how_long kept valid lives lifespan life_cycle lifecycle",
		typeTitle: "type datatype structure",
		docTitle:  "desc purpose usage use meaning content note comment value what",
	},
	{
		code:   "de",
		second: "sek sekunde sekunden",
		minute: "minute minuten",
		hour:   "std stunde stunden",
		day:    "tag tage tagen tages",
		week:   "woche wochen",
		month:  "monat monate monaten monats",
		year:   "jahr jahre jahren jahres",
		numbers: "0.5=halbe|halben|halber|halbes|eine_halbe|einer_halben|einen_halben 1.5=anderthalb|eineinhalb " +
			"1=ein|eine|einer|einem|einen|eines 2=zwei 3=drei 4=vier 5=fünf 6=sechs 7=sieben 8=acht 9=neun " +
			"10=zehn 12=zwölf 14=vierzehn 15=fünfzehn 20=zwanzig 24=vierundzwanzig 30=dreißig|dreissig " +
			"45=fünfundvierzig 48=achtundvierzig 60=sechzig 90=neunzig 100=hundert",
		whole: "15m=viertelstunde 30m=halbstunde 45m=dreiviertelstunde",
		lasts: "ablauf* läuft_ab läuft laufen verf* gültig gültigkeit* lebensdauer lebt leben hält " +
			"gelöscht löscht entfernt verworfen aufbewahrt aufbewahrung bleibt erlischt endet verschwind* " +
			"behalten gehalten",
		within: "nach für",
		forever: "ohne_ttl ohne_ablauf kein_ttl keine_ttl kein_ablauf keinen_ablauf kein_verfall läuft_nie_ab " +
			"verfällt_nie läuft_nicht_ab verfällt_nicht unbegrenzt dauerhaft für_immer bleibt_für_immer " +
			"unbefristet bleibt_immer nie_gelöscht",
		alone: "ohne_limit ohne_grenze " +
			"kein keine keiner keinen nie niemals unbegrenzt dauerhaft ewig immer unbefristet permanent",
		until:     "bis solange restlaufzeit am_ende",
		after:     "nach nachdem ab",
		activity:  "erstell* schreib* zugriff anlegen login anmeld* änderung aufruf abruf nutzung setzen",
		every:     "alle jede jeden jeder jedes je pro",
		past:      "letzte letzten vergangene vergangenen älter_als",
		example:   "z.b. z._b. zum_beispiel beispiel: beispiele:",
		filler:    "etwa rund ca höchstens maximal nach für lang gleitend",
		hash:      "hashtabelle",
		list:      "liste",
		set:       "menge mengen",
		zset:      "sortiert*_menge* sortiert*_set sortierte",
		text:      "zeichenkette zähler zeichenketten",
		channel:   "kanal",
		keyTitle:  "schlüssel muster",
		ttlTitle:  "wie_lange ablauf gültig lebensdauer laufzeit dauer verfall aufbewahrung",
		typeTitle: "typ struktur datentyp",
		docTitle:  "beschreibung zweck inhalt verwendung",
	},
	{
		code:   "fr",
		second: "seconde secondes",
		minute: "minute minutes",
		hour:   "heure heures",
		day:    "jour jours",
		week:   "semaine semaines",
		month:  "mois",
		year:   "ans année années",
		numbers: "0.5=demi|une_demi|demie 1=un|une 2=deux 3=trois 4=quatre 5=cinq 6=six 7=sept 8=huit 9=neuf " +
			"10=dix 12=douze 14=quatorze 15=quinze 20=vingt 24=vingt-quatre 30=trente 48=quarante-huit " +
			"60=soixante",
		whole: "15m=un_quart_d'heure|quart_d'heure|un_quart_d’heure 30m=une_demi-heure|demi-heure " +
			"90m=une_heure_et_demie 14d=quinzaine 365d=un_an",
		lasts: "expir* durée vie vit conservé* gardé* supprimé* effacé* disparaît disparait disparaissent " +
			"valable valide périm* dure vidé* reste",
		within: "pendant après au_bout_de durant",
		forever: "sans_ttl sans_expiration sans_durée n'expire_jamais n’expire_jamais n'expire_pas " +
			"jamais_supprimé* pour_toujours pas_d'expiration pas_de_ttl reste_toujours " +
			"conservé_indéfiniment",
		alone:     "aucun aucune jamais sans_limite illimité illimitée permanent permanente infini infinie toujours",
		until:     "jusqu'à jusqu'au jusqu’à jusqu’au jusqu'aux tant_que fin_de à_la_fin",
		after:     "après suivant",
		activity:  "dernier dernière création écriture accès connexion mise_à_jour lecture",
		every:     "chaque toutes_les tous_les par",
		past:      "derniers dernières depuis",
		example:   "p._ex. p.ex. par_exemple ex. exemple_: exemple:",
		filler:    "environ au_plus maximum pendant après",
		hash:      "table_de_hachage",
		list:      "liste",
		set:       "ensemble",
		zset:      "ensemble_trié ensembles_triés",
		text:      "chaîne compteur chaine",
		channel:   "canal canaux",
		keyTitle:  "clé clef motif",
		ttlTitle:  "combien_de_temps durée expiration validité conservation",
		typeTitle: "structure",
		docTitle:  "description rôle contenu",
	},
	{
		code:   "es",
		second: "segundo segundos seg",
		minute: "minuto minutos",
		hour:   "hora horas",
		day:    "día días dia dias",
		week:   "semana semanas",
		month:  "mes meses",
		year:   "año años",
		numbers: "0.5=media|medio 1=un|una|uno 2=dos 3=tres 4=cuatro 5=cinco 6=seis 7=siete 8=ocho 9=nueve 10=diez " +
			"12=doce 14=catorce 15=quince 20=veinte 24=veinticuatro 30=treinta 48=cuarenta_y_ocho 60=sesenta " +
			"90=noventa 100=cien",
		whole: "15m=un_cuarto_de_hora 90m=una_hora_y_media 14d=quincena|dos_semanas",
		lasts: "expira* caduca* vida vive viven vigencia vence borra borran elimina eliminan desaparece* guarda " +
			"guardan conserva* válid* dura duran",
		within: "durante tras después_de al_cabo_de a_los a_las por",
		forever: "sin_ttl sin_expiración sin_caducidad no_caduca no_caduca_nunca nunca_caduca no_expira " +
			"nunca_expira no_vence permanente permanentes para_siempre no_se_borra",
		alone: "ninguno ninguna nunca sin_límite " +
			"ilimitado ilimitada permanente indefinido indefinida infinito infinita " +
			"siempre",
		until:     "hasta mientras fin_de al_final",
		after:     "después_de después_del tras",
		activity:  "último última creación escritura acceso inicio_de_sesión actualización lectura uso",
		every:     "cada",
		past:      "últimos últimas",
		example:   "p._ej. p.ej. por_ejemplo por_ejemplo, ejemplo: ejemplos:",
		filler:    "unos aproximadamente máximo tras durante",
		list:      "lista",
		set:       "conjunto",
		zset:      "conjunto_ordenado",
		text:      "cadena contador",
		channel:   "canal",
		keyTitle:  "clave patrón",
		ttlTitle:  "cuánto_vive cuánto_dura vida caduc expira vigencia duración validez",
		typeTitle: "tipo estructura",
		docTitle:  "descripción uso propósito contenido",
	},
	{
		code:   "pt",
		second: "segundo segundos",
		minute: "minuto minutos",
		hour:   "hora horas",
		day:    "dia dias",
		week:   "semana semanas",
		month:  "mês meses",
		year:   "ano anos",
		numbers: "0.5=meia|meio 1=um|uma 2=dois|duas 3=três 4=quatro 5=cinco 6=seis 7=sete 8=oito 9=nove 10=dez " +
			"12=doze 15=quinze 20=vinte 24=vinte_e_quatro 30=trinta 60=sessenta",
		whole: "15m=um_quarto_de_hora",
		lasts: "expira* validade vale válid* apagad* removid* remove apaga excluíd* dura vive zera vence " +
			"mantid* guardad* prazo some_depois some_após some_em",
		within:  "após depois_de durante por em",
		forever: "sem_ttl sem_expiração sem_validade não_expira nunca_expira para_sempre permanente",
		alone: "nenhum nenhuma sem_limites nunca " +
			"ilimitado ilimitada permanente sem_limite indefinido infinito sempre",
		until:     "até enquanto fim_de ao_final",
		after:     "após depois_de depois_do depois_da",
		activity:  "último última criação escrita acesso login atualização leitura uso",
		every:     "cada a_cada",
		past:      "últimos últimas",
		example:   "ex. ex.: exemplo: por_exemplo p._ex.",
		filler:    "cerca_de máximo após durante",
		list:      "lista",
		set:       "conjunto",
		zset:      "conjunto_ordenado",
		text:      "texto contador",
		channel:   "canal",
		keyTitle:  "chave padrão padrões",
		ttlTitle:  "quanto_tempo validade expira duração tempo_de_vida prazo",
		typeTitle: "tipo estrutura",
		docTitle:  "descrição uso conteúdo",
	},
	{
		code:   "it",
		second: "secondo secondi",
		minute: "minuto minuti",
		hour:   "ora ore",
		day:    "giorno giorni",
		week:   "settimana settimane",
		month:  "mese mesi",
		year:   "anno anni",
		numbers: "0.5=mezza|mezz'|mezzo 1=un|una|uno 2=due 3=tre 4=quattro 5=cinque 6=sei 7=sette 8=otto 9=nove " +
			"10=dieci 12=dodici 15=quindici 20=venti 24=ventiquattro 30=trenta 60=sessanta",
		whole: "15m=un_quarto_d'ora|quarto_d'ora 30m=mezz'ora|mezzora",
		lasts: "scad* dura durano durata vive valid* cancellat* rimoss* eliminat* conservat* resta restano " +
			"sparisce",
		within: "dopo per",
		forever: "senza_ttl senza_scadenza non_scade non_scade_mai mai_scade per_sempre resta_sempre " +
			"nessuna_scadenza",
		alone:     "nessun nessuna nessuno senza_limite senza_limiti mai permanente illimitato illimitata sempre",
		until:     "finché fine_di alla_fine fino_a fino_al fino_alla",
		after:     "dopo dal",
		activity:  "ultimo ultima ultimo_accesso creazione scrittura accesso login aggiornamento",
		every:     "ogni",
		past:      "ultimi ultime",
		example:   "ad_es. es. ad_esempio per_esempio esempio:",
		filler:    "circa massimo dopo per",
		list:      "lista",
		set:       "insieme",
		zset:      "insieme_ordinato",
		text:      "stringa contatore",
		channel:   "canale",
		keyTitle:  "chiave chiavi",
		ttlTitle:  "quanto_dura scad durata validità",
		typeTitle: "tipo struttura",
		docTitle:  "descrizione contenuto uso",
	},
	{
		code:   "nl",
		second: "seconde seconden",
		minute: "minuut minuten",
		hour:   "uur uren",
		day:    "dag dagen",
		week:   "week weken",
		month:  "maand maanden",
		year:   "jaar jaren",
		numbers: "0.5=half|een_half|halve|een_halve 1.5=anderhalf 1=een|één 2=twee 3=drie 4=vier 5=vijf 6=zes " +
			"7=zeven 8=acht 9=negen 10=tien 12=twaalf 15=vijftien 20=twintig 24=vierentwintig 30=dertig " +
			"60=zestig",
		whole: "15m=kwartier|een_kwartier 30m=halfuur|een_halfuur",
		lasts: "verlo* vervalt vervallen verdwijn* verwijderd gewist geldig bewaard leeft levensduur blijft " +
			"houdbaar",
		within: "na gedurende",
		forever: "zonder_ttl zonder_vervaldatum geen_ttl geen_vervaltijd verloopt_nooit verloopt_niet " +
			"blijft_altijd voor_altijd blijvend altijd_bewaard",
		alone:     "geen nooit onbeperkt permanent blijvend altijd",
		until:     "tot zolang eind_van einde_van",
		after:     "na",
		activity:  "laatste aanmaken schrijven toegang inloggen wijziging gebruik",
		every:     "elke iedere per",
		past:      "afgelopen laatste ouder_dan",
		example:   "bijv. bijvoorbeeld bv. voorbeeld:",
		filler:    "ongeveer maximaal hoogstens na",
		list:      "lijst",
		set:       "verzameling",
		zset:      "gesorteerde_set gesorteerde_verzameling",
		text:      "tekst teller tekenreeks",
		channel:   "kanaal",
		keyTitle:  "sleutel patroon",
		ttlTitle:  "hoe_lang verval geldig levensduur bewaar verloop",
		typeTitle: "soort structuur",
		docTitle:  "beschrijving inhoud doel",
	},
	{
		code:   "sv",
		second: "sekund sekunder",
		minute: "minut minuter",
		hour:   "timme timmar timma tim",
		day:    "dag dagar dygn",
		week:   "vecka veckor",
		month:  "månad månader",
		year:   "år",
		numbers: "0.5=halv|en_halv|ett_halvt 1=en|ett 2=två 3=tre 4=fyra 5=fem 6=sex 7=sju 8=åtta 9=nio 10=tio " +
			"12=tolv 15=femton 20=tjugo 30=trettio 60=sextio",
		whole:  "15m=en_kvart|kvart",
		lasts:  "går_ut upphör försvinner tas_bort raderas giltig* lever livslängd sparas behålls",
		within: "efter i",
		forever: "utan_ttl ingen_ttl går_aldrig_ut upphör_aldrig för_alltid sparas_alltid aldrig_bort " +
			"tills_vidare",
		alone:     "ingen inget aldrig evigt för_alltid permanent obegränsad",
		until:     "tills till_slutet så_länge slutet_av",
		after:     "efter",
		activity:  "senaste sista skap* skriv* åtkomst inlogg* ändring",
		every:     "varje var per",
		past:      "senaste",
		example:   "t.ex. t_ex exempelvis till_exempel exempel:",
		filler:    "cirka högst efter ungefär",
		list:      "lista",
		set:       "mängd",
		zset:      "sorterad_mängd",
		text:      "sträng räknare",
		channel:   "kanal",
		keyTitle:  "nyckel nycklar mönster",
		ttlTitle:  "livslängd giltig utgång",
		typeTitle: "typ",
		docTitle:  "innehåll beskrivning syfte",
	},
}
