// The round that every version of the AWS SDK for Go has to make. It is
// compiled against the oldest; go-old and go-new choose.
module github.com/bezoar-dev/bezoar/clients/go

go 1.26.0

require (
	github.com/aws/aws-sdk-go-v2 v1.22.1
	github.com/aws/aws-sdk-go-v2/service/sqs v1.26.0
	github.com/aws/smithy-go v1.16.0
)

require (
	github.com/aws/aws-sdk-go-v2/internal/configsources v1.2.1 // indirect
	github.com/aws/aws-sdk-go-v2/internal/endpoints/v2 v2.5.1 // indirect
)
