// A fake issuer on a loopback port: it signs anything that a test requests, and misbehaves on request.
import { createHash } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose"

/** Behavior of an endpoint. */
export type Behaviour = "well" | "slow" | "redirect" | "huge" | "endless" | "html" | "garbage" | "error" | "hangUp"

export interface MintOptions {
  claims?: Record<string, unknown>
  /** Claims to omit. */
  without?: readonly string[]
  header?: Record<string, unknown>
  alg?: "RS256" | "ES256"
}

export interface FakeIdp {
  readonly issuer: string
  readonly jwksUri: string
  readonly tokenEndpoint: string
  /** May change at any time. */
  readonly behaviour: { jwks: Behaviour; token: Behaviour }
  /** Number of requests to each endpoint. */
  readonly asked: { jwks: number; token: number; elsewhere: number }
  /** The client's secret, if it has one. The token endpoint then refuses requests without it. */
  clientSecret: string | undefined
  /** Clients that may exchange codes without a secret. */
  readonly clientIds: string[]
  /** The published key of RS256 tokens. */
  publishedKey(): JWK
  /** Replaces all keys and kids; the old keys are no longer published. */
  rotateKeys(): Promise<void>
  /** A signed ID token for the client "notes-web" with the nonce "n-1", with changes. */
  mint(options?: MintOptions): Promise<string>
  /** A code that the token endpoint exchanges once, for a minted token. */
  issueCode(grant: { codeVerifier?: string; codeChallenge?: string; redirectUri: string; token?: MintOptions }): string
  stop(): Promise<void>
}

interface Keys {
  kid: string
  /** Returns the RSA key for reuse by the next issuer. */
  giveBack(): void
  rsa: { privateKey: CryptoKey; jwk: JWK }
  ec: { privateKey: CryptoKey; jwk: JWK }
}

interface Grant {
  challenge: string
  redirectUri: string
  token: MintOptions
}

type Pair = Awaited<ReturnType<typeof generateKeyPair>>

/** RSA keys of stopped issuers, because generating one takes 150 ms of CPU time. Running issuers never share a key. */
const spareRsaKeys: Pair[] = []

async function makeKeys(generation: number): Promise<Keys> {
  const rsa = spareRsaKeys.pop() ?? (await generateKeyPair("RS256"))
  const ec = await generateKeyPair("ES256")
  const kid = `key-${generation}`
  const jwkOf = async (key: CryptoKey, alg: string) => ({ ...(await exportJWK(key)), alg, use: "sig", kid })
  return {
    kid,
    giveBack: () => spareRsaKeys.push(rsa),
    rsa: { privateKey: rsa.privateKey, jwk: await jwkOf(rsa.publicKey, "RS256") },
    ec: { privateKey: ec.privateKey, jwk: await jwkOf(ec.publicKey, "ES256") },
  }
}

/** @param options.nowMs The issuer's clock; default is the machine's. */
export async function startFakeIdp(options: { nowMs?: () => number } = {}): Promise<FakeIdp> {
  const nowMs = options.nowMs ?? Date.now
  let generation = 1
  let keys = await makeKeys(generation)
  let isStopped = false
  const codes = new Map<string, Grant>()
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${port}`

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? ""
    if (path === "/jwks") {
      idp.asked.jwks++
      return answer(response, idp.behaviour.jwks, 200, { keys: [keys.rsa.jwk, keys.ec.jwk] })
    }
    if (path === "/token" && request.method === "POST") {
      idp.asked.token++
      const form = new URLSearchParams(await readBody(request))
      const { status, body } = await trade(form, request.headers.authorization)
      return answer(response, idp.behaviour.token, status, body)
    }
    idp.asked.elsewhere++
    // Target of redirects. It answers, so that a test notices a client that followed.
    return answer(response, "well", 200, { keys: [keys.rsa.jwk], id_token: await idp.mint() })
  }

  async function trade(form: URLSearchParams, authorization: string | undefined) {
    const refused = (error: string, status = 400) => ({ status, body: { error } })
    const basic = `Basic ${Buffer.from(`notes-web:${idp.clientSecret ?? ""}`).toString("base64")}`
    const isKnown =
      idp.clientSecret === undefined ? idp.clientIds.includes(form.get("client_id") ?? "") : authorization === basic
    if (!isKnown) return refused("invalid_client", 401)
    if (form.get("grant_type") !== "authorization_code") return refused("unsupported_grant_type")
    const code = form.get("code") ?? ""
    const grant = codes.get(code)
    codes.delete(code)
    const challenge = challengeOf(form.get("code_verifier") ?? "")
    if (grant?.challenge !== challenge || grant.redirectUri !== form.get("redirect_uri")) {
      return refused("invalid_grant")
    }
    const idToken = await idp.mint(grant.token)
    return { status: 200, body: { access_token: "opaque", token_type: "Bearer", expires_in: 60, id_token: idToken } }
  }

  const idp: FakeIdp = {
    clientIds: ["notes-web"],
    issuer,
    jwksUri: `${issuer}/jwks`,
    tokenEndpoint: `${issuer}/token`,
    behaviour: { jwks: "well", token: "well" },
    asked: { jwks: 0, token: 0, elsewhere: 0 },
    clientSecret: undefined,
    publishedKey: () => keys.rsa.jwk,
    async rotateKeys() {
      keys = await makeKeys(++generation)
    },
    async mint({ claims = {}, without = [], header = {}, alg = "RS256" } = {}) {
      const iat = Math.floor(nowMs() / 1000)
      const usual = {
        iss: issuer,
        aud: "notes-web",
        azp: "notes-web",
        sub: "ada",
        nonce: "n-1",
        iat,
        exp: iat + 3600,
        auth_time: iat,
      }
      const kept = Object.entries({ ...usual, ...claims }).filter(([name]) => !without.includes(name))
      const key = alg === "RS256" ? keys.rsa.privateKey : keys.ec.privateKey
      return new SignJWT(Object.fromEntries(kept))
        .setProtectedHeader({ alg, kid: keys.kid, typ: "JWT", ...header })
        .sign(key)
    },
    issueCode({ codeVerifier = "", codeChallenge, redirectUri, token = {} }) {
      const code = `code-${codes.size}-${Math.random()}`
      codes.set(code, { challenge: codeChallenge ?? challengeOf(codeVerifier), redirectUri, token })
      return code
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      if (!isStopped) keys.giveBack()
      isStopped = true
    },
  }
  return idp
}

function challengeOf(verifier: string): string {
  return createHash("sha256").update(verifier).digest("base64url")
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString("utf8")
}

function answer(response: ServerResponse, behaviour: Behaviour, status: number, body: unknown): void {
  const json = { "content-type": "application/json" }
  switch (behaviour) {
    case "well":
      response.writeHead(status, json).end(JSON.stringify(body))
      return
    case "slow":
      // Sends headers at once and never a body: the time limit must cover the whole response.
      response.writeHead(status, json).write("{")
      return
    case "redirect":
      response.writeHead(302, { ...json, location: "/elsewhere" }).end("{}")
      return
    case "huge":
      response.writeHead(status, json).end(JSON.stringify({ ...Object(body), padding: "x".repeat(70_000) }))
      return
    case "endless": {
      response.writeHead(status, json)
      const write = () => {
        while (!response.destroyed && response.write(" ".repeat(16_384)));
      }
      response.on("drain", write)
      write()
      return
    }
    case "html":
      response.writeHead(status, { "content-type": "text/html" }).end(JSON.stringify(body))
      return
    case "garbage":
      response.writeHead(status, json).end('{"keys": [')
      return
    case "error":
      response.writeHead(503, json).end("{}")
      return
    case "hangUp":
      response.destroy()
      return
  }
}
