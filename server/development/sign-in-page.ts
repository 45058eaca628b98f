/** A sign-in form without a password: a developer can sign in as any user. */
export function signInPage(clientId: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign in</title>
<style>
  body { font: 1rem/1.5 system-ui, sans-serif; max-width: 22rem; margin: 15vh auto; padding: 0 1rem }
  label { display: block; margin: 1rem 0 }
  input { display: block; width: 100%; box-sizing: border-box; font: inherit; padding: .4rem }
  button { font: inherit; padding: .4rem 1rem }
</style>
<h1>Sign in</h1>
<p>The stand-in provider of the development profile. It accepts any user without a password. Client: <b>${escapeHtml(clientId)}</b>.</p>
<form method="post">
  <label>Email <input name="email" type="email" value="ada@example.com" required maxlength="320"></label>
  <label>Name <input name="name" value="Ada Lovelace" maxlength="200"></label>
  <button>Sign in</button>
</form>
</html>
`
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
