// Package onnxpb is the part of the ONNX model format that the importer reads, generated from onnx.proto.
//
// To generate it anew, with protoc from the PyPI package grpcio-tools: go generate ./relay/importer/onnx/onnxpb
package onnxpb

//go:generate go build -o ../../../../bin/protoc-gen-go google.golang.org/protobuf/cmd/protoc-gen-go
//go:generate python3 -m grpc_tools.protoc -I. --plugin=../../../../bin/protoc-gen-go --go_out=. --go_opt=paths=source_relative onnx.proto
//go:generate mv onnx.pb.go onnx_gen.go
