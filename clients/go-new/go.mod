module github.com/bezoar-dev/bezoar/clients/go-new

go 1.26.0

require github.com/bezoar-dev/bezoar/clients/go v0.0.0

require (
	github.com/aws/aws-sdk-go-v2 v1.48.0 // indirect
	github.com/aws/aws-sdk-go-v2/internal/configsources v1.5.12 // indirect
	github.com/aws/aws-sdk-go-v2/internal/endpoints/v2 v2.8.12 // indirect
	github.com/aws/aws-sdk-go-v2/service/sqs v1.53.0 // indirect
	github.com/aws/smithy-go v1.28.9 // indirect
)

replace github.com/bezoar-dev/bezoar/clients/go => ../go
