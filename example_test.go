package texel_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/texel-ml/texel"
	"github.com/texel-ml/texel/tensor"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// The program of the README: compile a model, load the artifact, run it.
func Example() {
	dir, err := os.MkdirTemp("", "texel")
	check(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.texel")

	ctx := context.Background()
	compiled, err := texel.Compile(ctx, "testdata/squeezenet1.1/model.onnx", texel.Options{})
	check(err)
	defer compiled.Close()
	check(compiled.WriteFile(path))
	model, err := texel.Load(path, texel.LoadOptions{})
	check(err)
	defer model.Close()
	image := tensor.New(tensor.Float32, tensor.Shape{1, 3, 227, 227})
	outputs, err := model.Run(ctx, map[string]*tensor.Tensor{"image": image})
	check(err)
	fmt.Println(outputs["probabilities"].Shape)
	// Output: (1, 1000)
}
