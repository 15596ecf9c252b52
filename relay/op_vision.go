package relay

import (
	"math"

	"github.com/texel-ml/texel/tensor"
)

// NonMaxSuppressionAttrs are the attributes of vision.non_max_suppression.
type NonMaxSuppressionAttrs struct {
	MaxOutputBoxesPerClass int     `relay:"max_output_boxes_per_class"`
	IouThreshold           float64 `relay:"iou_threshold"`
	ScoreThreshold         float64 `relay:"score_threshold"`  // −∞: every box
	CenterPointBox         bool    `relay:"center_point_box"` // boxes are x, y of the centre, width, height
}

// visionOps are the detection operators.
func visionOps() []*Op {
	return []*Op{{
		Name: "vision.non_max_suppression", Args: []string{"boxes", "scores"},
		NewAttrs: func() any { return &NonMaxSuppressionAttrs{ScoreThreshold: math.Inf(-1)} }, Infer: inferNonMaxSuppression,
		Eval: evalNonMaxSuppression, Class: Opaque, Lower: "nms",
		Doc: "ONNX NonMaxSuppression (Relay's vision.all_class_non_max_suppression). boxes is (B, N, 4): y1, x1, y2, x2 of two opposite corners; " +
			"scores is (B, C, N). For each batch and class, boxes with a score above score_threshold are taken from the highest score down (the " +
			"lower index first among equal ones), unless their intersection over union with one already taken is above iou_threshold, up to " +
			"max_output_boxes_per_class. The result is a tuple: int64 (M, 3) of batch, class and box, M = B·C·min(N, max_output_boxes_per_class), " +
			"rows beyond their number filled with −1; and that number as int64 (1).",
	}}
}

func inferNonMaxSuppression(s *Site) (Type, error) {
	a, t, err := operandsOf[NonMaxSuppressionAttrs](s)
	if err != nil {
		return nil, err
	}
	if _, err := s.Float(0); err != nil {
		return nil, err
	}
	boxes, scores := t[0].Shape, t[1].Shape
	if len(boxes) != 3 || len(scores) != 3 || boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2] {
		return nil, s.Illegal("boxes %v and scores %v, wanted (B, N, 4) and (B, C, N)", boxes, scores)
	}
	if a.MaxOutputBoxesPerClass < 0 {
		return nil, s.Illegal("max_output_boxes_per_class=%d, wanted at least 0", a.MaxOutputBoxesPerClass)
	}
	rows, err := s.Result(tensor.Int64, tensor.Shape{scores[0] * scores[1] * min(boxes[1], a.MaxOutputBoxesPerClass), 3})
	if err != nil {
		return nil, err
	}
	return &TupleType{[]Type{rows, &TensorType{tensor.Shape{1}, tensor.Int64}}}, nil
}
