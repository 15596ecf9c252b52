package relaytext

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/antlr4-go/antlr/v4"

	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay/relaytext/grammar"
)

// tokenWords name the tokens whose spelling is not fixed.
var tokenWords = map[int]string{
	antlr.TokenEOF:                "the end of the text",
	grammar.RelayLexerVERSION:     "the version",
	grammar.RelayLexerMETADATA:    "the metadata section",
	grammar.RelayLexerNUMBER:      "a number",
	grammar.RelayLexerGLOBAL:      "the name of a function, such as @main",
	grammar.RelayLexerLOCAL:       "a local name, such as %x",
	grammar.RelayLexerNAME:        "a name",
	grammar.RelayLexerFIELD:       "a field, such as .0",
	grammar.RelayLexerSTRING:      "a text in quotes",
	grammar.RelayLexerOPEN_STRING: "a text in quotes",
}

// ruleWords name what begins with any of several tokens; longer lists first.
var ruleWords = []struct {
	word   string
	tokens []int
}{
	{"an expression", []int{
		grammar.RelayLexerLOCAL, grammar.RelayLexerGLOBAL, grammar.RelayLexerNAME, grammar.RelayLexerNUMBER, grammar.RelayLexerMINUS,
		grammar.RelayLexerTRUE, grammar.RelayLexerFALSE, grammar.RelayLexerMETA, grammar.RelayLexerLEFT_PAREN, grammar.RelayLexerFN,
		grammar.RelayLexerIF, grammar.RelayLexerMATCH, grammar.RelayLexerLEFT_BRACE, grammar.RelayLexerREF, grammar.RelayLexerREF_READ,
		grammar.RelayLexerREF_WRITE,
	}},
	{"an attribute", []int{
		grammar.RelayLexerNAME, grammar.RelayLexerTYPE, grammar.RelayLexerEXTERN, grammar.RelayLexerDEF, grammar.RelayLexerMATCH,
		grammar.RelayLexerREF, grammar.RelayLexerMETA, grammar.RelayLexerFN, grammar.RelayLexerLET, grammar.RelayLexerIF, grammar.RelayLexerELSE,
	}},
	{"a value", []int{
		grammar.RelayLexerNUMBER, grammar.RelayLexerMINUS, grammar.RelayLexerSTRING, grammar.RelayLexerTRUE, grammar.RelayLexerFALSE,
		grammar.RelayLexerNAME, grammar.RelayLexerMETA, grammar.RelayLexerLEFT_BRACKET, grammar.RelayLexerLEFT_PAREN,
	}},
	{"a type", []int{
		grammar.RelayLexerTENSOR, grammar.RelayLexerNAME, grammar.RelayLexerLEFT_PAREN, grammar.RelayLexerFN, grammar.RelayLexerREF,
	}},
	{"an operator", []int{
		grammar.RelayLexerEQUAL, grammar.RelayLexerNOT_EQUAL, grammar.RelayLexerLESS, grammar.RelayLexerLESS_EQUAL, grammar.RelayLexerGREATER,
		grammar.RelayLexerGREATER_EQUAL, grammar.RelayLexerPLUS, grammar.RelayLexerMINUS, grammar.RelayLexerTIMES, grammar.RelayLexerDIVIDE,
	}},
}

// syntax turns the first error of the parser into one of ours, and stops. It is also the parser's strategy, which asks
// before each optional part: where it asked first since the last token, everything that may follow can be seen.
type syntax struct {
	*antlr.DefaultErrorStrategy
	antlr.DefaultErrorListener
	r     *reader
	asked bool
	state int
	rule  antlr.ParserRuleContext
}

// Sync keeps where it was asked first.
func (s *syntax) Sync(p antlr.Parser) {
	if !s.asked {
		s.asked, s.state, s.rule = true, p.GetState(), p.GetParserRuleContext()
	}
	s.DefaultErrorStrategy.Sync(p)
}

// ReportMatch is told of each token.
func (s *syntax) ReportMatch(antlr.Parser) { s.asked = false }

// SyntaxError ends the parse.
func (s *syntax) SyntaxError(recognizer antlr.Recognizer, symbol any, _, _ int, _ string, _ antlr.RecognitionException) {
	p := recognizer.(antlr.Parser)
	if s.asked {
		p.SetState(s.state)
		p.SetParserRuleContext(s.rule)
	}
	s.r.fail(s.r.unexpected(symbol.(antlr.Token), expected(p)))
	panic(stop{})
}

// unexpected is the error of a token that stands where something else is wanted.
func (r *reader) unexpected(t antlr.Token, wanted string) *diag.Error {
	return diag.Invalid(step, "", "%s", r.wantedFound(t, wanted)).At(r.pos(t))
}

func (r *reader) wantedFound(t antlr.Token, wanted string) string {
	switch t.GetTokenType() {
	case grammar.RelayLexerOPEN_COMMENT:
		return "the comment has no end"
	case grammar.RelayLexerOPEN_STRING:
		return "the text in quotes has no end on its line"
	case grammar.RelayLexerUNKNOWN:
		c, _ := utf8.DecodeRuneInString(r.text[t.GetStart():])
		return "character " + strconv.QuoteRune(c) + " is not part of the language"
	case antlr.TokenEOF:
		return "wanted " + wanted + ", found the end of the text"
	}
	return "wanted " + wanted + ", found " + strconv.Quote(shorten(t.GetText()))
}

// shorten cuts what a message quotes.
func shorten(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// expected says in words which tokens the parser could go on with.
func expected(p antlr.Parser) string {
	tokens := map[int]bool{}
	for _, i := range p.GetExpectedTokens().GetIntervals() {
		for t := i.Start; t < i.Stop; t++ {
			tokens[t] = true
		}
	}
	var words []string
	covered := map[int]bool{}
	for _, rule := range ruleWords {
		if !slices.ContainsFunc(rule.tokens, func(t int) bool { return !tokens[t] }) {
			words = append(words, rule.word)
			for _, t := range rule.tokens {
				covered[t] = true
			}
		}
	}
	var rest []int
	for t := range tokens {
		if !covered[t] {
			rest = append(rest, t)
		}
	}
	slices.Sort(rest)
	for _, t := range rest {
		word, ok := tokenWords[t]
		if !ok {
			word = strconv.Quote(strings.Trim(p.GetLiteralNames()[t], "'"))
		}
		words = append(words, word)
	}
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
	return strings.Join(words, "")
}
