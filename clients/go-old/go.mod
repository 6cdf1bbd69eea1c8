module github.com/bezoar-dev/bezoar/clients/go-old

go 1.26.0

require github.com/bezoar-dev/bezoar/clients/go v0.0.0

require (
	github.com/aws/aws-sdk-go-v2 v1.22.1 // indirect
	github.com/aws/aws-sdk-go-v2/internal/configsources v1.2.1 // indirect
	github.com/aws/aws-sdk-go-v2/internal/endpoints/v2 v2.5.1 // indirect
	github.com/aws/aws-sdk-go-v2/service/sqs v1.26.0 // indirect
	github.com/aws/smithy-go v1.16.0 // indirect
)

replace github.com/bezoar-dev/bezoar/clients/go => ../go
