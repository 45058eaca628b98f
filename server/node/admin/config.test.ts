// The settings as an operator may show them to others.
import { expect, test } from "vitest"
import { settings } from "../settings.ts"
import { showConfig } from "./config.ts"

const key = Buffer.alloc(32, 7).toString("base64")
const env = {
  SIGNET_PROFILE: "production",
  DATABASE_URL: "postgres://ada:correct@horse@one:1,two:2/signet?password=battery&sslmode=require",
  SIGNET_ISSUER: "https://auth.example",
  SIGNET_SEALING_KEY: key,
  SIGNET_PEPPERS: `1:${key}`,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://user:staple@traces.example/v1",
}

test("every setting is printed with its value or its default, and no secret is", () => {
  const { text, json } = showConfig([], env)
  expect(text.split("\n")).toHaveLength(settings.length)
  expect(text).toContain("postgres://…@one:1,two:2/signet?password=…&sslmode=require")
  expect(text).toMatch(/^SIGNET_ISSUER +https:\/\/auth\.example$/m)
  expect(text).toMatch(/^PORT +8080 {2}\(default\)$/m)
  for (const secret of [key, "correct", "horse", "battery", "staple"]) {
    expect(text + JSON.stringify(json)).not.toContain(secret)
  }
})

test("a setting whose name suggests a secret is masked", () => {
  const named = settings.map(({ name }) => name).filter((name) => /SECRET|SEALING_KEY|PEPPER|PUSH_KEY/.test(name))
  const { text } = showConfig([], env)
  const masked = named.filter((name) => new RegExp(`^${name} +(\\(set\\)|.*\\(default\\))$`, "m").test(text))
  expect(masked).toEqual(named)
})

test("invalid settings are refused as at a start", () => {
  expect(() => showConfig([], { ...env, PORT: "many" })).toThrow("PORT must be an integer")
})
