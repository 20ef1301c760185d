// The address with the token gave the cookie. On to the same page without it, which is what history and bookmarks keep.
// An answer that redirects would be simpler, but a browser that was led here from elsewhere, such as from the file that
// the command opens, would not send a strict cookie along.
const to = new URLSearchParams(location.search).has("big") ? "/?big" : "/";
location.replace(to + location.hash);
