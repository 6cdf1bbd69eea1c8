package worker_test

func beAWorker() {}
