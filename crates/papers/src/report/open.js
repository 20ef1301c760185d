const open = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", open);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((all) => (all.open = true)));
open();
