module signet/vectors/check

go 1.21
