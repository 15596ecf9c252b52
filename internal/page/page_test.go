package page_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/texel-ml/texel/internal/browser"
	"github.com/texel-ml/texel/internal/page"
)

func sample() *page.Page {
	return &page.Page{Title: "A <sample>", Lead: "Two steps.", Parts: []page.Part{
		&page.Text{Heading: "Why", Paragraphs: []string{"To see & to test."}},
		&page.Table{Caption: "numbers", Head: []string{"name", "bytes"}, Right: map[int]bool{1: true}, Rows: [][]string{{"A", "12"}}},
		&page.Steps{List: []page.Step{
			{Name: "first()", Note: "nothing yet", Parts: []page.Part{&page.Code{Caption: "before", Lines: []page.Line{{Text: "for i < 3"}}}}},
			{Name: "second()", Parts: []page.Part{
				&page.Code{Lines: []page.Line{{Text: "old", Mark: page.Removed}}}, &page.Code{Lines: []page.Line{{Text: "new", Mark: page.Added}}},
				&page.Table{Head: []string{"x"}}}},
		}},
	}}
}

func TestPageIsSelfContained(t *testing.T) {
	var b strings.Builder
	require.NoError(t, sample().Write(&b))
	html := b.String()
	require.Contains(t, html, "<title>A &lt;sample&gt;</title>")
	require.Contains(t, html, "To see &amp; to test.")
	require.Contains(t, html, `<td class="right">12</td>`)
	require.Contains(t, html, `<span class="line removed">old`)
	for _, outside := range []string{"http:", "https:", "src=", "@import", "url("} {
		require.NotContains(t, html, outside)
	}
}

// Chromium runs a page's script and prints what stands there then.
func TestPageStepsInABrowser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, sample().Write(f))
	require.NoError(t, f.Close())
	for n, want := range []string{`<section id="shown-0">`, `<section id="shown-1">`} {
		dom := browser.Document(t, "file://"+path+"#"+string(rune('0'+n)))
		require.Contains(t, dom, want)
		require.Equal(t, 1, strings.Count(dom, `class="here"`))
		require.Contains(t, dom, `<section id="shown-`+string(rune('1'-n))+`" hidden="">`)
	}
}
