// The page that a magic link opens. It shows a button, because mail scanners open links but press no buttons.
import { developmentAppId } from "./app-id.ts"

/** @param scriptNonce CSP nonce of the page's only script. */
export function linkPage(scriptNonce: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="referrer" content="no-referrer">
<title>Sign in</title>
<h1>Sign in</h1>
<p>The page that a magic link opens: a stand-in for the page of your app.</p>
<button>Sign in</button>
<pre></pre>
<script nonce="${scriptNonce}">
const tokenHash = new URLSearchParams(location.search).get("token_hash")
document.querySelector("button").onclick = async () => {
  const answer = await fetch("/auth/magic-link/confirm", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ appId: "${developmentAppId}", platform: "WEB", tokenHash }),
  })
  document.querySelector("pre").textContent = answer.ok ? "Signed in." : await answer.text()
}
</script>
</html>
`
}
