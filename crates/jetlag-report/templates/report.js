// Values under the pointer at once; without this they come as the browser's own hints. Opens the contents where they have room.
(function () {
  var tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.appendChild(tip);
  // Beside the page there is room for the contents; above it they stay folded.
  var toc = document.querySelector(".toc details");
  if (toc && matchMedia("(min-width:1240px)").matches) toc.open = true;
  document.querySelectorAll("svg .h").forEach(function (stripe) {
    var title = stripe.querySelector("title");
    if (!title) return;
    var text = title.textContent;
    stripe.setAttribute("aria-label", text);
    title.remove();
    stripe.addEventListener("pointermove", function (event) {
      tip.textContent = text;
      tip.hidden = false;
      var room = document.documentElement.clientWidth - tip.offsetWidth - 8;
      tip.style.left = Math.max(4, Math.min(event.clientX + 12, room)) + "px";
      tip.style.top = event.clientY + 16 + "px";
    });
    stripe.addEventListener("pointerleave", function () { tip.hidden = true; });
  });
})();
