// The sign-in page of the stand-in for IDP_B, which returns users to the app with a form that their browser posts.
import { randomBytes } from "node:crypto"
import type { IdpBClient } from "./idp-b-clients.ts"
import { firstAuthorizationOf, parseIdpBPerson } from "./idp-b-person.ts"
import type { IdpBState } from "./idp-b-state.ts"
import { escapeHtml } from "./sign-in-page.ts"

export interface Page {
  status: number
  html: string
  /** CSP nonce of the page's only script. */
  scriptNonce?: string
}

interface AuthorizationRequest {
  client: IdpBClient
  redirectUri: string
  /** The client requested an identity token in addition to the code. */
  wantsIdToken: boolean
  /** The client requested name and email. */
  wantsUser: boolean
  state: string | undefined
  nonce: string | undefined
}

const refusal: Page = { status: 400, html: "<!doctype html><title>invalid_request</title><p>invalid_request\n" }

/** GET: returns the form, whose hidden fields repeat the request. */
export function showAuthorization(idp: IdpBState, query: URLSearchParams): Page {
  if (parseRequest(idp, query) === undefined) return refusal
  const hidden = [...query].map(([name, value]) => hiddenInput(name, value)).join("\n  ")
  return {
    status: 200,
    html: document(`<h1>Sign in</h1>
<p>The stand-in for IDP_B of the development profile. It accepts any user without a password.</p>
<form method="post">
  ${hidden}
  <p><label>Email <input name="person.email" type="email" value="ada@example.com" required maxlength="320"></label>
  <p><label>Name <input name="person.name" value="Ada Lovelace" maxlength="200"></label>
  <p><label><input name="person.hidesEmail" type="checkbox"> Hide my email</label>
  <p><button>Continue</button> <button name="person.cancel" value="1" formnovalidate>Cancel</button>
</form>`),
  }
}

/** POST: processes the form and returns a page that posts the result to the app. */
export async function answerAuthorization(idp: IdpBState, form: URLSearchParams): Promise<Page> {
  const request = parseRequest(idp, form)
  if (request === undefined) return refusal
  const { client, redirectUri, nonce } = request
  const state = request.state
  if (form.has("person.cancel")) return postBack(redirectUri, { state, error: "user_cancelled_authorize" })
  const person = parseIdpBPerson({
    email: form.get("person.email") ?? "",
    name: form.get("person.name") ?? "",
    hidesEmail: form.has("person.hidesEmail"),
  })
  if (person === undefined) return refusal
  const { clientId } = client
  const isFirst = idp.grants.consent({ clientId, person })
  return postBack(redirectUri, {
    state,
    code: idp.grants.issueCode({ clientId, person, redirectUri, nonce }),
    id_token: request.wantsIdToken ? await idp.mint({ clientId, person, nonce }) : undefined,
    // Sent only with the first authorization, as by the real provider.
    user: request.wantsUser && isFirst ? JSON.stringify(firstAuthorizationOf(person)) : undefined,
  })
}

/** Undefined for requests that the provider would refuse. It ignores code challenges. */
function parseRequest({ clients }: IdpBState, fields: URLSearchParams): AuthorizationRequest | undefined {
  const redirectUri = fields.get("redirect_uri") ?? ""
  const client = clients.find(
    (one) => one.clientId === fields.get("client_id") && one.redirectUris.includes(redirectUri),
  )
  const responseType = fields.get("response_type") ?? ""
  const wantsUser = /\b(name|email)\b/.test(fields.get("scope") ?? "")
  // A request for name or email needs a response in a form body, which does not end up in logs.
  const isRight = fields.get("response_mode") === "form_post" && ["code", "code id_token"].includes(responseType)
  if (client === undefined || !isRight) return undefined
  return {
    client,
    redirectUri,
    wantsUser,
    wantsIdToken: responseType === "code id_token",
    state: fields.get("state") ?? undefined,
    nonce: fields.get("nonce") ?? undefined,
  }
}

function postBack(redirectUri: string, members: Record<string, string | undefined>): Page {
  const scriptNonce = randomBytes(12).toString("base64")
  const inputs = Object.entries(members).map(([name, value]) => (value === undefined ? "" : hiddenInput(name, value)))
  return {
    status: 200,
    scriptNonce,
    html: document(`<form method="post" action="${escapeHtml(redirectUri)}">
  ${inputs.join("\n  ")}
  <noscript><button>Continue</button></noscript>
</form>
<script nonce="${scriptNonce}">document.forms[0].submit()</script>`),
  }
}

const hiddenInput = (name: string, value: string) =>
  `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`

const document = (body: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign in</title>
${body}
</html>
`
