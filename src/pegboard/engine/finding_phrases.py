"""Finding phrases: what rules on wording look for, one row of patterns a rule.

They read folded text (`finding_rules.folded`): clean, small letters, one blank between words, no emphasis, `_` as a
blank. Every repetition is bounded, so that no text takes long. English; the two plainest rules in other languages too.

`NEEDLES` is what makes them cheap: a pattern is looked for only in a text that holds one of its rule's needles, which
most texts do not. A new pattern whose needle is not there yet brings one.

Source: the attacks of `tests/corpus`; the counts in docs/reference/findings.md.
"""

from collections.abc import Mapping

__all__ = ["NEEDLES", "PHRASES"]

_SOME = r"(?:[^\s.]+ ){0,4}"
_NEVER = r"\b(?:do not|don't|never) "
_RULES = r"(?:instructions?|prompts?|rules|guidelines|directives|guardrails|policies|constraints)"
_USER = r"(?:the |your )?(?:users?|humans?|customers?|operators?|anyone|anybody|them)"
_DROP = (
    r"\b(?:ignore|disregard|forget|override|bypass|discard|set aside|pay no attention to|abandon|stop following|"
    r"do not follow|don't follow|disobey|violate) "
)
_EARLIER = (
    r"(?:previous|prior|above|earlier|preceding|existing|your|system|safety|developer|original|initial|all)(?:'s)? "
)
_GIVE = r"(?:enter|provide|include|pass|send|give|supply|share|paste|append|attach|type in|ask for|submit|fill)"
_KEYS = (
    r"(?:passwords?|passphrase|api[ -]?keys?|access tokens?|auth tokens?|bearer tokens?|session tokens?|secret keys?|"
    r"private keys?|ssh keys?|seed phrase|recovery phrase|credentials|credit card numbers?|card numbers?|cvv|"
    r"one[ -]time (?:codes?|passwords?)|2fa codes?|verification codes?|otp)"
)
_OWN_FILES = (
    r"(?:~?/?\.ssh/(?!id rsa\.pub)|\bid (?:rsa|ed25519)(?!\.pub)\b|/etc/(?:passwd|shadow)|~/\.aws/credentials|"
    r"~/\.kube/config|~?/?\.cursor/|\bmcp\.json|claude desktop config|(?:~/|/|\b)\.?netrc|"
    r"(?:^|[\s/'])\.env(?:$|[\s,'.)]))"
)
_OTHERS = r"(?:(?:any|all|every|each) (?:of the )?other tools?|other tools?|(?:any|every) tools?|all tools)"
_RUNS = r"(?:use|call|run|invoke)"

PHRASES: Mapping[str, tuple[str, ...]] = {
    "override": (
        _DROP + _SOME + _EARLIER + _SOME + _RULES,
        rf"\b{_RULES} {_SOME}(?:no longer apply|(?:do not|don't) apply|are (?:void|cancelled|suspended|revoked))",
        r"\b(?:ignore|disregard|forget|pay no attention to) (?:everything|anything|whatever|all) "
        r"(?:\w+ ){0,4}(?:before|above|earlier|previously|so far|told)\b",
        r"\b(?:ignora|ignore|olvida|olvide|descarta|omite)\w{0,4} [^.]{0,30}(?:instrucciones|reglas|indicaciones)",
        r"\b(?:ignore[zr]?|oublie[zr]?|ne tiens pas compte|ne tenez pas compte) [^.]{0,30}(?:consignes|règles)",
        r"\b(?:ignore[zr]?|oublie[zr]?) [^.]{0,30}instructions (?:précédentes|antérieures|ci-dessus)",
        r"\b(?:ignorier\w{0,6}|vergiss|vergessen sie|missachte\w{0,4}) [^.]{0,40}(?:anweisung|vorgabe|regel)",
        r"\b(?:ignora|ignori|dimentica) [^.]{0,30}(?:istruzioni|regole)",
        r"\b(?:ignore|esqueça|desconsidere) [^.]{0,30}(?:instruções|regras)",
        r"\b(?:negeer|vergeet) [^.]{0,30}(?:instructies|regels)",
        r"\b(?:zignoruj|ignoruj|zapomnij) [^.]{0,30}(?:instrukcj|polece)",
        r"(?:игнорируй|забудь|не обращай внимания)\w{0,4} [^.]{0,40}(?:инструкци|указани|правил)",
        r"(?:忽略|无视|無視|忘记|忘記|不要理会)[^。]{0,12}(?:指令|指示|提示|规则|規則|说明|說明)",
        r"(?:指示|命令|ルール|プロンプト)(?:を|は)?[^。]{0,6}(?:無視|忘れ)",
        r"(?:지시|명령|규칙|프롬프트)[^.]{0,8}(?:무시|잊)",
        r"(?:تجاهل|انس)[^.]{0,30}(?:التعليمات|الأوامر|القواعد)",
    ),
    "chat-markup": (
        r"<\|(?:im start|im end|system|user|assistant|endoftext|eot id|start header id)[^|>]{0,20}\|>",
        r"\[/?(?:inst|system instruction)\]|<</?sys>>",
        r"</?(?:system|system prompt|assistant|instructions?|important)>",
        r"(?:^|#{2,} ?)(?:system|assistant|human) ?: ",
    ),
    "persona": (
        r"\byou are now (?:an? |in |the )",
        r"\bfrom now on,? you (?:are|will|must|should)\b",
        r"\b(?:new|updated|real|actual|true) (?:system )?instructions?(?: from| ?:)",
        r"\b(?:developer|dan|god|jailbreak) mode\b",
        r"\byour (?:new|real|true|only) (?:role|task|goal|objective|purpose|job) is\b",
        r"\bas an? (?:ai|language model|assistant)(?: assistant| model| agent)?,? you (?:must|should|will|are)\b",
    ),
    "secrecy": (
        rf"{_NEVER}(?:mention|reveal|disclose|tell|show|report|explain) (?:this|these|it|that|about)\b"
        rf"[^.]{{0,40}} {_USER}\b",
        rf"{_NEVER}(?:tell|inform|alert|notify|warn|let) {_USER} (?:about|that|of|know|see|notice)\b",
        _NEVER + r"mention [^.]{1,40} (?:in|with) (?:your|the) (?:reply|answer|response|summary)",
        rf"\bwithout {_USER}(?:'s)? (?:knowing|noticing|knowledge|awareness|consent|permission|approval)\b",
        rf"\bwithout (?:telling|informing|notifying|alerting|asking|mentioning (?:this|it) to) {_USER}\b",
        rf"\b(?:hide|conceal|keep) (?:this|it|these|that|what|the)\b[^.]{{0,40}} from {_USER}\b",
        rf"\b(?:no need|not necessary|unnecessary) to (?:tell|inform|notify|ask|mention (?:this|it) to) {_USER}\b",
        r"\b(?:secretly|covertly|surreptitiously)\b",
        r"\bas if nothing (?:had )?happened\b",
        r"\bno le (?:digas|diga|menciones|informes) [^.]{0,20}usuario",
        r"\bsage (?:es |dies |das )?dem (?:benutzer|nutzer) nichts",
        r"\bne (?:dis|dites|mentionne|mentionnez) (?:rien|pas|jamais) [^.]{0,20}utilisateur",
        r"不要(?:告诉|告訴|通知|让|讓)[^。]{0,6}(?:用户|用戶|使用者)",
        r"ユーザー?に[^。]{0,8}(?:伝えない|知らせない|言わない)",
        r"(?:не говори|не сообщай)\w{0,4} [^.]{0,20}пользовател",
    ),
    "sensitive-file": (
        r"\b(?:read|open|load|fetch|cat|include|attach|send|pass|copy|contents? of|print|upload)\b[^.]{0,40}"
        + _OWN_FILES,
    ),
    "credential-request": (
        rf"(?<!never )(?<!not )\b{_GIVE} (?:in )?(?:me |us )?(?:the|your|their|his|her|any|all|full|current|own|"
        rf"account|login|admin) (?:[\w']+ ){{0,2}}{_KEYS}\b",
        rf"\byour {_KEYS}\b",
        rf"\buser's {_KEYS} (?:is|are) (?:required|needed)\b",
    ),
    "credential-parameter": (
        r"^(?:\w+ )?(?:password|passwd|passphrase|api ?key|secret(?: ?key)?|access ?token|auth ?token|private ?key|"
        r"credit ?card(?: ?number)?|card ?number|cvv|ssn|seed ?phrase|otp)$",
    ),
    "conversation-request": (
        r"\b(?:full|entire|whole|complete|all)(?: of)?(?: the| your| our| this)? "
        r"(?:conversation|chat|dialogue|message) ?(?:history|log|transcript|so far)",
        r"\b(?:your|the|full|model's|entire) (?:system (?:prompt|message)|developer message|hidden instructions)\b",
        r"\b(?:everything|all) (?:that )?(?:the |your )?(?:user|customer) (?:has )?(?:said|wrote|typed|told)\b",
        r"^(?:the )?(?:system ?prompt|conversation ?history|chat ?history|chain ?of ?thought|tools? ?list|"
        r"previous ?messages|all ?tools)$",
        r"\b(?:include|pass|send|put|write|provide|copy|with)\b[^.]{0,20} your (?:full |whole |entire |internal )?"
        r"(?:chain of thought|reasoning|thoughts)\b",
        r"\b(?:names?|list|descriptions?) of (?:all|every|the other) (?:other )?(?:available )?tools?\b",
    ),
    "claim": (
        r"\b(?:before|instead of|prior to|rather than|after) (?:(?:using|calling|invoking|running|"
        rf"you {_RUNS}) )?{_OTHERS}\b",
        rf"(?:{_NEVER}|\bstop |\bavoid )(?:trust|using|calling|{_RUNS}) (?:the |any |all )?(?:any )?other tools?\b",
        r"\bother (?:\w+ ){0,2}tools? (?:are|is) (?:deprecated|broken|disabled|unsafe|insecure|obsolete|outdated|"
        r"unreliable|compromised)\b",
        r"\b(?:whenever|every time|each time) (?:any|another|a|some) (?:other )?tool\b",
        r"\b(?:replaces|supersedes|overrides|takes precedence over|has priority over) (?:all|any|every|the) "
        r"(?:other )?tools?\b",
        r"\bwhen (?:the )?(?!the |this |that |a )(?:[\w.-]+ ){1,3}tool is (?:used|called|invoked)",
    ),
    "steering": (
        rf"\b(?:always|must|first) {_RUNS} (?:this|me)\b",
        rf"\b{_RUNS} this (?:tool )?first\b",
        r"\bmandatory\b[^.]{0,20}\b(?:first|step|call|tool)",
        r"\b(?:preferred tool|first step|always call)\b",
        r"\bmust be (?:called|used|run) (?:first|before)\b",
        r"\bthis tool (?:must|should) (?:always )?be (?:called|used)\b",
        r"\b(?:best|only) tool (?:for|to|that)\b",
        r"\bimmer zuerst\b|\bsiempre primero\b|\btoujours en premier\b|必须首先|必ず最初",
    ),
    "instruction": (
        r"\byou (?:must|should always|need to|are required|shall)\b",
        r"\b(?:important|critical|mandatory|warning|required) ?[:!-]",
        r"\b(?:never|always) (?:use|call|ask|assume|guess|include|pass|set|respond|answer|show|tell|mention)\b",
    ),
    "active-markup": (
        r"<script\b|<(?:iframe|object|embed) [^>]{0,40}src ?=|\bon(?:error|load|click) ?= ?['\"]?[\w.]+\(",
        r"javascript:|data:text/html|display: ?none|visibility: ?hidden|font-size: ?0|opacity: ?0(?!\.)",
    ),
    "hidden-markup": (r"<!--", r"!\[[^\]]{0,80}\]\(https?:", r"<img [^>]{0,40}https?:", r"\[//\]: ?#"),
    "odd-link": (
        r"https?://[^/\s'\"]{1,80}@",
        r"https?://(?!127\.|10\.|192\.168\.|0\.0\.0\.0)\d{1,3}(?:\.\d{1,3}){3}",
        r"https?://[\w.-]{0,80}\bxn--",
        r"https?://[^\s'\"]{0,80}[?&]\w{1,20}=(?:\{\{?|\$\{|<)[^}>]{0,20}"
        r"(?:data|secret|token|content|history|message|conversation|result)",
        r"\b(?:webhook\.site|requestbin|ngrok|pastebin\.com|burpcollaborator|interact\.sh|bit\.ly|tinyurl\.com)\b",
    ),
    "link": (r"https?://",),
    "encoded": (
        # A hexadecimal digest is as long, and honest.
        r"(?<![a-z0-9+/])(?=[a-f0-9]{0,60}[g-z])[a-z0-9+]{64,}",
        r"(?:\\x[0-9a-f]{2}|\\u[0-9a-f]{4}){8}",
    ),
}

_TELLING = (
    *("mention", "reveal", "disclose", "tell", "show", "report", "explain", "inform", "alert", "notify", "warn", "let"),
)
# One of these stands in every text in which a pattern of the rule finds something; a rule without any reads all texts.
NEEDLES: Mapping[str, tuple[str, ...]] = {
    "override": (
        *("ignor", "disregard", "forget", "override", "bypass", "discard", "set aside", "no attention", "abandon"),
        *("stop following", "not follow", "n't follow", "disobey", "violate"),
        *("no longer apply", "not apply", "n't apply", "are void", "are cancelled", "are suspended", "are revoked"),
        *("olvid", "descarta", "omite", "oublie", "pas compte", "vergiss", "vergessen sie", "missachte", "dimentica"),
        *("esqueça", "desconsidere", "negeer", "vergeet", "zapomnij", "игнорируй", "забудь", "не обращай"),
        *("忽略", "无视", "無視", "忘记", "忘記", "不要理会", "忘れ", "무시", "잊", "تجاهل", "انس"),
    ),
    "chat-markup": (
        *("<|", "inst]", "instruction]", "sys>>", "system>", "prompt>", "assistant>", "instruction>", "instructions>"),
        *("important>", "system:", "system :", "assistant:", "assistant :", "human:", "human :"),
    ),
    "persona": (
        *("you are now", "from now on", "instruction", "developer mode", "dan mode", "god mode", "jailbreak mode"),
        *("your new", "your real", "your true", "your only", "as a ai", "as an ai", "language model", "assistant"),
    ),
    "secrecy": (
        *(never + word for never in ("do not ", "don't ", "never ") for word in _TELLING),
        *("without ", "hide ", "conceal ", "keep ", "no need", "not necessary", "unnecessary", "secretly", "covertly"),
        *("surreptitiously", "as if nothing", "no le ", "nichts", "ne di", "ne mentionne", "不要", "ユーザ"),
        *("не говори", "не сообщай"),
    ),
    "sensitive-file": (
        *(".ssh/", "id rsa", "id ed25519", "/etc/passwd", "/etc/shadow", ".aws/", ".kube/", ".cursor/", "mcp.json"),
        *("claude desktop config", "netrc", ".env"),
    ),
    "credential-request": (
        *("passw", "passphrase", "api key", "api-key", "apikey", "token", "secret key", "private key", "ssh key"),
        *("seed phrase", "recovery phrase", "credential", "card number", "cvv", "one time", "one-time", "2fa code"),
        *("verification code", "otp"),
    ),
    "credential-parameter": (
        *("passw", "passphrase", "api", "secret", "token", "private", "card", "cvv", "ssn", "seed", "otp"),
    ),
    "conversation-request": (
        *("history", "transcript", "so far", "conversation", "chat", "dialogue", "message log", "messagelog", "prompt"),
        *("system message", "developer message", "hidden instruction", " said", " wrote", " typed", " told", "thought"),
        *("reasoning", "of all ", "of every ", "of the other "),
        *("tool list", "tools list", "toollist", "toolslist", "previous message", "previousmessage", "all tools"),
        "alltools",
    ),
    "claim": ("tool",),
    "steering": (
        *("use this", "call this", "run this", "invoke this", "use me", "call me", "run me", "invoke me", "mandatory"),
        *("preferred tool", "first step", "always call", "must be called", "must be used", "must be run"),
        *("this tool must", "this tool should", "best tool", "only tool"),
        *("immer zuerst", "siempre primero", "toujours en premier", "必须首先", "必ず最初"),
    ),
    "instruction": (
        *("you must", "you should always", "you need to", "you shall", "important", "critical"),
        *("mandatory", "warning", "required", "never ", "always "),
    ),
    "active-markup": (
        *("<script", "<iframe", "<object", "<embed", "onerror", "onload", "onclick", "javascript:", "data:text/html"),
        *("display:", "visibility:", "font-size:", "opacity:"),
    ),
    "hidden-markup": ("<!--", "![", "<img ", "[//]:"),
    "odd-link": (
        *("http", "webhook.site", "requestbin", "ngrok", "pastebin.com", "burpcollaborator", "interact.sh", "bit.ly"),
        *("tinyurl.com",),
    ),
    "link": ("http",),
}
