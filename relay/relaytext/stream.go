package relaytext

import (
	"github.com/antlr4-go/antlr/v4"

	"github.com/texel-ml/texel/relay/relaytext/grammar"
)

// chars is a text as the lexer sees it, byte by byte: bytes above 127 stand in names, strings and comments only, so
// nothing has to be decoded and every token is a view of the text.
type chars struct {
	file, text string
	at         int
}

func (c *chars) LA(n int) int {
	if at := c.at + n - 1; n > 0 && at < len(c.text) {
		return int(c.text[at])
	}
	return antlr.TokenEOF
}

func (c *chars) Consume()                      { c.at++ }
func (c *chars) Index() int                    { return c.at }
func (c *chars) Seek(at int)                   { c.at = min(at, len(c.text)) }
func (c *chars) Size() int                     { return len(c.text) }
func (c *chars) Mark() int                     { return 0 }
func (c *chars) Release(int)                   {}
func (c *chars) GetSourceName() string         { return c.file }
func (c *chars) GetText(start, end int) string { return c.text[start:min(end+1, len(c.text))] }

func (c *chars) GetTextFromInterval(i antlr.Interval) string { return c.GetText(i.Start, i.Stop) }

func (c *chars) GetTextFromTokens(start, end antlr.Token) string {
	return c.GetText(start.GetStart(), end.GetStop())
}

// window is the part of the tokens that the parser looks at: those that it has left behind are let go of, so that a
// text of any length takes the same room.
type window struct {
	lexer  *grammar.RelayLexer
	tokens []antlr.Token // from number first on
	first  int
	at     int // number of the next token
	marks  int // predictions under way, which go back
}

// behind is how many tokens are let go of at once.
const behind = 256

// LT returns the n-th token ahead, or for n = −1 the last one that was consumed.
func (w *window) LT(n int) antlr.Token {
	if n < 0 {
		if at := w.at + n - w.first; at >= 0 {
			return w.tokens[at]
		}
		return nil
	}
	for w.at+n-1-w.first >= len(w.tokens) {
		if last := len(w.tokens) - 1; last >= 0 && w.tokens[last].GetTokenType() == antlr.TokenEOF {
			return w.tokens[last]
		}
		t := w.lexer.NextToken()
		t.SetTokenIndex(w.first + len(w.tokens))
		w.tokens = append(w.tokens, t)
	}
	return w.tokens[w.at+n-1-w.first]
}

func (w *window) LA(n int) int { return w.LT(n).GetTokenType() }

func (w *window) Consume() {
	w.LT(1)
	w.at++
	if gone := w.at - 1 - w.first; w.marks == 0 && gone >= behind { // the last one stays, for LT(−1)
		rest := copy(w.tokens, w.tokens[gone:])
		clear(w.tokens[rest:])
		w.tokens, w.first = w.tokens[:rest], w.first+gone
	}
}

func (w *window) Mark() int                               { w.marks++; return w.marks }
func (w *window) Release(int)                             { w.marks-- }
func (w *window) Index() int                              { return w.at }
func (w *window) Seek(at int)                             { w.at = at }
func (w *window) Size() int                               { return w.first + len(w.tokens) }
func (w *window) Reset()                                  { w.at = w.first }
func (w *window) Get(at int) antlr.Token                  { return w.tokens[at-w.first] }
func (w *window) GetSourceName() string                   { return w.lexer.GetInputStream().GetSourceName() }
func (w *window) GetTokenSource() antlr.TokenSource       { return w.lexer }
func (w *window) SetTokenSource(source antlr.TokenSource) { w.lexer = source.(*grammar.RelayLexer) }

func (w *window) GetAllText() string {
	return w.GetTextFromTokens(w.tokens[0], w.tokens[len(w.tokens)-1])
}

func (w *window) GetTextFromInterval(i antlr.Interval) string {
	return w.GetTextFromTokens(w.Get(i.Start), w.Get(i.Stop))
}

func (w *window) GetTextFromRuleContext(c antlr.RuleContext) string {
	return w.GetTextFromInterval(c.GetSourceInterval())
}

func (w *window) GetTextFromTokens(start, end antlr.Token) string {
	return w.lexer.GetInputStream().GetTextFromTokens(start, end)
}
