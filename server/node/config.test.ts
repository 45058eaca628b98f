import { expect, test } from "vitest"
import { ConfigError, parseConfig } from "./config.ts"

const key = Buffer.alloc(32, 7).toString("base64")
const production = {
  DATABASE_URL: "postgres://db/signet",
  SIGNET_ISSUER: "https://auth.example",
  SIGNET_SEALING_KEY: key,
  SIGNET_PEPPERS: `2:${key},1:${key}`,
}

test("without settings the profile is development on loopback", () => {
  expect(parseConfig({})).toMatchObject({
    profile: "development",
    host: "127.0.0.1",
    port: 8080,
    adminHost: "127.0.0.1",
    databaseDirectUrl: null,
    databaseNamesStatements: true,
    adminPort: 9464,
    issuer: "http://127.0.0.1:8080",
    databaseUrl: null,
    secrets: null,
  })
})

test("a database URL selects the production profile", () => {
  const config = parseConfig(production)
  expect(config.profile).toBe("production")
  expect(config.secrets?.peppers.map(({ version }) => version)).toEqual([2, 1])
})

test.each<[Record<string, string>, number, number]>([
  [{}, 8, 1],
  [production, 1, 1],
  [production, 3, 3],
  [production, 64, 4],
  [{ ...production, DATABASE_CONNECTIONS: "2" }, 64, 2],
  [{ ...production, SIGNET_WORKERS: "8" }, 2, 8],
])("settings %j on %i cores have %i workers", (settings, cores, workers) => {
  expect(parseConfig(settings, cores).workers).toBe(workers)
})

test.each<[string, Record<string, string>, RegExp]>([
  ["a second backend with a path", { SIGNET_CONSOLE_BACKEND: "http://127.0.0.1:8787/" }, /SIGNET_CONSOLE_BACKEND/],
  ["a second backend that is no URL", { SIGNET_CONSOLE_BACKEND: "worker; script-src *" }, /SIGNET_CONSOLE_BACKEND/],
  ["the development profile has one worker", { SIGNET_WORKERS: "2" }, /must be 1 in the development profile/],
  [
    "each worker needs a connection",
    { ...production, SIGNET_WORKERS: "3", DATABASE_CONNECTIONS: "2" },
    /SIGNET_WORKERS must not be greater than DATABASE_CONNECTIONS/,
  ],
  ["an open address is no development by itself", { HOST: "0.0.0.0" }, /requires DATABASE_URL/],
  ["a database is no development by itself", { DATABASE_URL: "postgres://db/signet" }, /requires SIGNET_ISSUER/],
  [
    "production needs its secrets",
    { ...production, SIGNET_PEPPERS: "" },
    /requires SIGNET_SEALING_KEY and SIGNET_PEPPERS/,
  ],
  ["production needs an https issuer", { ...production, SIGNET_ISSUER: "http://auth.example" }, /must be https/],
  ["an issuer has no path", { ...production, SIGNET_ISSUER: "https://auth.example/" }, /must be an origin/],
  ["a key has 32 bytes", { ...production, SIGNET_SEALING_KEY: "c2hvcnQ=" }, /SIGNET_SEALING_KEY must be 32 bytes/],
  [
    "the next sealing key is another",
    { ...production, SIGNET_SEALING_KEY_NEXT: production.SIGNET_SEALING_KEY },
    /SIGNET_SEALING_KEY_NEXT must differ from SIGNET_SEALING_KEY/,
  ],
  [
    "a next sealing key needs one to follow",
    { SIGNET_SEALING_KEY_NEXT: Buffer.alloc(32, 9).toString("base64") },
    /SIGNET_SEALING_KEY_NEXT needs SIGNET_SEALING_KEY/,
  ],
  ["peppers have versions", { ...production, SIGNET_PEPPERS: key }, /must look like/],
  ["a version comes once", { ...production, SIGNET_PEPPERS: `1:${key},1:${key}` }, /twice/],
  ["a certificate needs its key", { TLS_CERT_FILE: "cert.pem" }, /must be set together/],
  ["access tokens live 5 to 15 minutes", { SIGNET_ACCESS_TOKEN_SECONDS: "901" }, /300 to 900/],
  ["a conversation has room for two", { SIGNET_CONVERSATION_LEAVES: "1" }, /2 to 1000/],
  ["a conversation is never larger than is known to work", { SIGNET_CONVERSATION_LEAVES: "1001" }, /2 to 1000/],
  ["a port is a port", { PORT: "http" }, /PORT must be an integer/],
  ["a profile is known", { SIGNET_PROFILE: "staging" }, /development or production/],
  ["limits may be off in development only", { ...production, SIGNET_LIMITS: "off" }, /only in the development profile/],
  ["limits are known", { SIGNET_LIMITS: `{"windows": {"x": {}}}` }, /SIGNET_LIMITS: windows\.x is not a limit/],
  ["blobs are in a folder or a bucket", { SIGNET_BLOBS: "ftp://x/y" }, /SIGNET_BLOBS must be a folder or/],
  ["a bucket needs its credentials", { SIGNET_BLOBS: "s3://parts" }, /requires SIGNET_BLOBS_KEY_ID/],
  ["credentials need a bucket", { SIGNET_BLOBS_SECRET: "x" }, /need a bucket/],
  ["no credentials in an address", { SIGNET_BLOBS: "s3://a:b@parts" }, /SIGNET_BLOBS must be/],
  ["a bucket's endpoint is an origin", { SIGNET_BLOBS: "s3://parts?endpoint=https://x/y" }, /must be an origin/],
  ["production needs an https store", { ...production, SIGNET_BLOBS: "s3://p-1?endpoint=http://x" }, /https, host/],
  ["a bucket takes what is known", { SIGNET_BLOBS: "s3://parts?acl=public" }, /endpoint and region/],
  ["a log level is known", { LOG_LEVEL: "loud" }, /LOG_LEVEL/],
])("%s", (_, env, problem) => {
  expect(() => parseConfig(env)).toThrow(problem)
  expect(() => parseConfig(env)).toThrow(ConfigError)
})

test("an error about a secret does not contain the secret", () => {
  const secret = Buffer.from("too short to be a key").toString("base64")
  const tell = () => parseConfig({ ...production, SIGNET_SEALING_KEY: secret, SIGNET_PEPPERS: `1:${secret}` })
  expect(tell).toThrow(ConfigError)
  expect(tell).not.toThrow(secret)
})

test("limits are the defaults with the operator's changes, or none in development", () => {
  const of = (SIGNET_LIMITS: string) => parseConfig({ SIGNET_LIMITS }).limits
  expect(of("")?.windows.refresh.ip).toEqual({ limit: 120, seconds: 60 })
  expect(of(`{"windows": {"refresh": {"ip": {"limit": 9}}}}`)?.windows.refresh.ip).toEqual({ limit: 9, seconds: 60 })
  expect(of("off")).toBeNull()
})

test("attachments are in the data folder, in another one, or in a bucket", () => {
  expect(parseConfig({ SIGNET_DATA: "/data" }).blobs).toEqual({ is: "folder", folder: "/data/blobs" })
  expect(parseConfig({ SIGNET_BLOBS: "/blobs" }).blobs).toEqual({ is: "folder", folder: "/blobs" })
  const bucket = { SIGNET_BLOBS_KEY_ID: "AK", SIGNET_BLOBS_SECRET: "secret" }
  const of = (SIGNET_BLOBS: string) => parseConfig({ ...bucket, SIGNET_BLOBS }).blobs
  const made = { is: "bucket", bucket: "parts", keyId: "AK", secret: "secret" }
  expect(of("s3://parts?region=eu-1")).toEqual({ ...made, endpoint: "https://s3.eu-1.amazonaws.com", region: "eu-1" })
  const own = { ...made, endpoint: "https://s3.example:9000", region: "us-east-1" }
  expect(of("s3://parts?endpoint=https://s3.example:9000")).toEqual(own)
})
