/** The pages, without scripts. */

const signUpForm = `
<form method="post" action="/sign-up">
  <label>E-mail address <input name="email" type="email" autocomplete="email" required /></label>
  <button>Sign up</button>
</form>`;

const buyForm = (key = '') => `
<form method="post" action="/buy">
  <label>Your key <input name="key" type="password" autocomplete="off" value="${escaped(key)}" required /></label>
  <label>Credits <input name="credits" type="number" min="1" value="10" required /></label>
  <button>Buy credits</button>
</form>`;

export function startPage(): string {
  return page(`
<h2>Sign up</h2>
<p>You get a trial of 14 days for speech and transcription. Chat needs credits.</p>${signUpForm}
<h2>Buy credits</h2>${buyForm()}`);
}

export function keyPage(name: string, key: string): string {
  return page(`
<h2>Welcome, ${escaped(name)}</h2>
<p>Your trial has begun. This is your key. It is shown only now, so keep it in a safe place:</p>
<p><code>${escaped(key)}</code></p>
<h2>Buy credits</h2>${buyForm(key)}`);
}

export function problemPage(problem: string): string {
  return page(`<p role="alert">${escaped(problem)}</p><p><a href="/">Back to the start</a></p>`);
}

function page(content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8" />
  <meta name="viewport" content="width=device-width" />
  <title>Speech, transcription and chat</title>
  <style>body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 40rem; padding: 0 1rem }</style>
</head>
<body><main><h1>Speech, transcription and chat</h1>${content}</main></body>
</html>`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
