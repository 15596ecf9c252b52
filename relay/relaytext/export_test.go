package relaytext

// Translated returns the names of the operators of Relay that are translated.
func Translated() []string { return keys(translations) }
