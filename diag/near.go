package diag

import "strings"

// Meant asks whether another name was meant: it returns "; did you mean NAME?" with the first of those in list that are
// nearest to name, or "" when none is near: a third of its letters may be wrong.
func Meant(name string, list []string) string {
	best, near := len([]rune(name))/3+1, ""
	for _, other := range list {
		if d := edits(strings.ToLower(name), strings.ToLower(other)); d < best || d == best && near != "" && other < near {
			best, near = d, other
		}
	}
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}

// edits is the number of letters to insert, to leave out, to change and to swap with the next one that make b of a.
func edits(a, b string) int {
	from, to := []rune(a), []rune(b)
	before, last, row := make([]int, len(to)+1), make([]int, len(to)+1), make([]int, len(to)+1)
	for j := range row { // from what was read of a to each beginning of b
		row[j] = j
	}
	for i := range from {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range to {
			change := last[j]
			if from[i] != to[j] {
				change++
			}
			row[j+1] = min(change, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && from[i] == to[j-1] && from[i-1] == to[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(to)]
}
