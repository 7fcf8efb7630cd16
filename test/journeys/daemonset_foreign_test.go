package journeys

import (
	"fmt"
)

// noPodOf wants no pod to be of an image.
func noPodOf(image string) check {
	return func(s *scene) error {
		for _, pod := range s.pods {
			if pod.Spec.Containers[0].Image == image {
				return fmt.Errorf("want no pod of %s", image)
			}
		}
		return nil
	}
}
