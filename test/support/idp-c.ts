// The stand-in for IDP_C on its own loopback port, with access to its state and faults.
import { once } from "node:events"
import { createServer, IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Secrets } from "@signet/kernel/keys/ports"
import type { Clock } from "@signet/kernel/ports"
import type { Platform, ProviderClient } from "@signet/kernel/records"
import type { JWTPayload } from "jose"
import { createDevelopmentIdpC } from "../../server/development/idp-c.ts"
import { buildIdpCClients, idpCPath } from "../../server/development/idp-c-clients.ts"
import type { ProjectSigning } from "../../server/development/idp-c-keys.ts"
import type { Project } from "../../server/development/idp-c-project.ts"
import type { EmailProject } from "./email-project.ts"

export type Misbehaviour =
  | "silent"
  | "slow"
  | "redirect"
  | "huge"
  | "endless"
  | "html"
  | "garbage"
  | "down"
  | "fails"
  | "hangUp"

export interface FakeIdpC extends EmailProject {
  readonly project: Project
  /** Misbehavior of a path below /auth/v1 instead of its proper answer. */
  readonly misbehaviour: Map<string, Misbehaviour>
  /** Replacement of the answer of a path below /auth/v1. */
  readonly instead: Map<string, { status: number; body: unknown }>
  /** The development app's client as stored. */
  clientOf(platform: Platform, change?: Partial<ProviderClient>): ProviderClient
  /** A token for that user as the project issues it, with changes. */
  mint(subject: string, change?: JWTPayload): Promise<string>
}

export async function startFakeIdpC(options: {
  clock: Clock
  secrets: Pick<Secrets, "seal">
  signing?: ProjectSigning
}): Promise<FakeIdpC> {
  const { clock, secrets, signing = "ES256" } = options
  let origin = ""
  const standIn = createDevelopmentIdpC({ profile: "development", origin: () => origin, clock, signing })
  const misbehaviour: FakeIdpC["misbehaviour"] = new Map()
  const instead: FakeIdpC["instead"] = new Map()
  const requests: EmailProject["requests"] = []

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request)
    const url = request.url ?? ""
    requests.push({ method: request.method ?? "", url, headers: request.headers, body })
    const path = new URL(url, origin).pathname.replace(`${idpCPath}/auth/v1`, "")
    const wrong = misbehaviour.get(path)
    if (wrong !== undefined) return misbehave(wrong, response)
    const other = instead.get(path)
    if (other !== undefined) {
      response.writeHead(other.status, json).end(JSON.stringify(other.body))
      return
    }
    await standIn.handle(unread(request, body), response)
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const project = await standIn.project()
  project.settings.redirectUris = ["https://notes.example", `${origin}/`]
  const clients = buildIdpCClients(origin, standIn, secrets)

  const idp: FakeIdpC = {
    project,
    misbehaviour,
    instead,
    requests,
    projectUrl: origin + idpCPath,
    secretKey: standIn.secretKey,
    tokenSecret: standIn.tokenSecret,
    clientOf(platform, change = {}) {
      const client = clients.find((one) => one.platform === platform)
      if (client === undefined) throw new Error(`no client for ${platform}`)
      return { ...client, ...change }
    },
    mint(subject, change = {}) {
      const iat = Math.floor(clock.nowMs() / 1000)
      const usual = { iss: project.issuer, aud: "authenticated", sub: subject, iat, exp: iat + 3_600 }
      return project.keys.sign({ ...usual, ...change })
    },
    mails: () => project.outbox.map(({ to, link, tokenHash, type }) => ({ to, link, tokenHash, type })),
    async addPerson(given) {
      const person = project.people.put(given)
      if (person.confirmedAtMs !== null) person.confirmedAtMs -= 86_400_000
      return person
    },
    ask: (path, body, headers = {}) =>
      fetch(`${project.issuer}${path}`, {
        method: body === undefined ? "GET" : "POST",
        redirect: "manual",
        headers: { apikey: standIn.secretKey, "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    countSessions: async () => project.sessions.size,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return idp
}

const json = { "content-type": "application/json" }

/** The request again, for a handler that reads its body. */
function unread({ socket, method, url, headers }: IncomingMessage, body: string): IncomingMessage {
  const copy = new IncomingMessage(socket)
  Object.assign(copy, { method, url, headers, complete: true })
  copy.push(body)
  copy.push(null)
  return copy
}

function misbehave(how: Misbehaviour, response: ServerResponse): void {
  switch (how) {
    case "silent":
      return
    case "slow":
      // Sends headers at once and never a body: the time limit must cover the whole response.
      response.writeHead(200, json).write("{")
      return
    case "redirect":
      response.writeHead(307, { ...json, location: "/elsewhere" }).end("{}")
      return
    case "huge":
      response.writeHead(200, json).end(JSON.stringify({ padding: "x".repeat(70_000) }))
      return
    case "endless": {
      response.writeHead(200, json)
      const write = () => {
        while (!response.destroyed && response.write(" ".repeat(16_384)));
      }
      response.on("drain", write)
      write()
      return
    }
    case "html":
      response.writeHead(200, { "content-type": "text/html" }).end("{}")
      return
    case "garbage":
      response.writeHead(200, json).end('{"access_token": [')
      return
    case "down":
      response.writeHead(503, json).end("{}")
      return
    case "fails":
      response.writeHead(500, json).end('{"code":500,"error_code":"unexpected_failure","msg":"Database error"}')
      return
    case "hangUp":
      response.destroy()
      return
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString("utf8")
}
