package arith

// Laws returns the name and the law of each rule, in order.
func Laws() (names, texts []string) {
	for _, l := range laws {
		names, texts = append(names, l.name), append(texts, l.law)
	}
	return names, texts
}

// Fired returns how often each rule rewrote something, by the rule's name.
func (a *Analyzer) Fired() map[string]int {
	out := map[string]int{}
	for r, n := range a.fired {
		out[rule(r).String()] = int(n)
	}
	return out
}
