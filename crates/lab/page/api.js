// Requests to the server. All failures become an error with the server's own words.

export class ApiError extends Error {
  constructor(error, status) {
    super(error.message);
    Object.assign(this, error);
    this.status = status;
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new ApiError({ code: "unreachable", message: "The laboratory does not answer. Is `hustings lab` still running?" }, 0);
  }
  if (response.ok) return response;
  let error = { code: "failed", message: `The server answered ${response.status}.` };
  try {
    error = (await response.json()).error ?? error;
  } catch {
    // Not one of our answers; the status says enough.
  }
  throw new ApiError(error, response.status);
}

const json = async (path, options) => (await ask(path, options)).json();

export const catalogue = () => json("api/catalogue");
export const lessons = () => json("api/lessons");
export const opened = (number) => json(`api/opened/${encodeURIComponent(number)}`);
export const simulate = (text) => json("api/run", { method: "POST", body: text });
export const trace = (file) => json("api/trace", { method: "POST", body: file });
export const exported = async (format, text) =>
  (await ask(`api/export/${format}`, { method: "POST", body: text })).blob();

// Calls `each` with every event of a chart as it is computed.
export async function chart(request, each, signal) {
  const response = await ask("api/chart", { method: "POST", body: JSON.stringify(request), signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const name = /^event: (.*)$/m.exec(part)?.[1];
      const data = /^data: (.*)$/m.exec(part)?.[1];
      if (name && data) each(name, JSON.parse(data));
    }
  }
}
