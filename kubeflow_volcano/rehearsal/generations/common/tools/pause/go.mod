module kubeflow-volcano.invalid/rehearsal/pause

go 1.25.0
