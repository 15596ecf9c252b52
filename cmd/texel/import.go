package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/diag"
	"github.com/texel-ml/texel/relay"
	"github.com/texel-ml/texel/relay/importer/onnx"
	"github.com/texel-ml/texel/relay/relaytext"
	"github.com/texel-ml/texel/tensor"
)

func (a *app) importCommand() *cobra.Command {
	m, output := &modelFlags{}, ""
	c := &cobra.Command{Use: "import MODEL -o X.relay", Short: "writes a model's graph as Relay text", Args: args("a model"), RunE: func(c *cobra.Command, args []string) error {
		opts, err := m.options(nil)
		if err != nil {
			return err
		}
		if err := notOver(output, args[0]); err != nil {
			return err
		}
		module, err := texel.Import(c.Context(), args[0], opts, nil)
		if err != nil {
			return err
		}
		defer module.Close()
		text, err := openText(c.Context(), args[0], opts, module)
		if err != nil {
			if c.Context().Err() != nil {
				return err
			}
			why := err.Error()
			if e := (*diag.Error)(nil); errors.As(err, &e) {
				why = e.Message
				if e.Node != "" {
					why = e.Node + ": " + why
				}
			}
			fmt.Fprintf(a.err, "import: the batch is 1 in the text: %s\n", printable(why))
			text = relay.PrintOptions{Spans: true}.Print(module)
		}
		return a.writeGraphText(module, text, output)
	}}
	m.add(c)
	c.Flags().StringVarP(&output, "output", "o", "", "the file to write (default: standard output, without constants' data)")
	return c
}

// openText returns the text of the model m at path, in which the batch that the model leaves open stays so. An error says why it
// cannot.
func openText(ctx context.Context, path string, opts texel.Options, m *relay.Module) (string, error) {
	o := relay.PrintOptions{Spans: true}
	if m.Batch == "" {
		return o.Print(m), nil
	}
	inputs, err := inputsOf(path)
	if err != nil {
		return "", err
	}
	shapes := maps.Clone(opts.InputShapes)
	for _, p := range m.Main().Params {
		i := slices.IndexFunc(inputs, func(in onnx.Input) bool { return in.Name == p.Name })
		if i < 0 || len(inputs[i].Shape) == 0 || inputs[i].Shape[0] != tensor.Unknown || shapes[p.Name] != nil {
			continue
		}
		if _, bound := opts.Dims[inputs[i].Dims[0]]; bound {
			continue
		}
		shape := relay.Tensor(p).Shape.Clone()
		shape[0] = relaytext.OtherBatch
		shapes[p.Name] = shape
	}
	opts.InputShapes = shapes
	other, err := texel.Import(ctx, path, opts, nil)
	if err != nil {
		return "", err
	}
	defer other.Close()
	return o.PrintOpen(m, other)
}
